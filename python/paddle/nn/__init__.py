"""Layers as objects, and as functions in ``paddle.nn.functional``."""

from paddle._rows import rows

from . import clip, functional, initializer, layer  # noqa: F401

rows(globals())
