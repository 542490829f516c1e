"""Layers and losses as functions of variables."""

from paddle._names import names_of

from . import activation, common, conv, distance, loss, norm, pooling, vision
from .activation import *  # noqa: F403
from .common import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
from .pooling import *  # noqa: F403
from .vision import *  # noqa: F403

__all__ = [
    name
    for module in (activation, common, conv, distance, loss, norm, pooling, vision)
    for name in module.__all__
]

__getattr__, __dir__ = names_of(__name__)
