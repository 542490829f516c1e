"""Layers of sequences under the name of their module in 2.x."""

from paddle._names import names_of
from paddle.nn.functional import sequence_mask  # noqa: F401

from .sequence import *  # noqa: F403
from .sequence import __all__ as _all

__all__ = ["sequence_mask", *_all]

__getattr__, __dir__ = names_of(__name__)
