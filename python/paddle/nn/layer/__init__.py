"""Layers as objects."""

from paddle._names import names_of

from . import (
    activation,
    common,
    container,
    conv,
    layers,
    loss,
    norm,
    pooling,
    transformer,
    vision,
)
from .activation import *  # noqa: F403
from .common import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .layers import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
from .pooling import *  # noqa: F403
from .transformer import *  # noqa: F403
from .vision import *  # noqa: F403

__all__ = [
    name
    for module in (
        *(activation, common, container, conv, layers, loss, norm, pooling, transformer, vision),
    )
    for name in module.__all__
]

__getattr__, __dir__ = names_of(__name__)
