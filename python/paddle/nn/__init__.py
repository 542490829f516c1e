"""Layers as objects, and as functions in ``paddle.nn.functional``."""

from paddle._names import names_of
from paddle.base.clip import (  # noqa: F401
    ClipGradByGlobalNorm,
    ClipGradByNorm,
    ClipGradByValue,
)
from paddle.base.param_attr import ParamAttr  # noqa: F401

from . import clip, functional, initializer, layer  # noqa: F401
from .layer import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__)
