"""Layers as objects, and as functions in ``paddle.nn.functional``."""

from paddle._names import names_of
from paddle._rows import rows

from . import clip, functional, initializer, layer  # noqa: F401

rows(globals())

__getattr__, __dir__ = names_of(__name__)
