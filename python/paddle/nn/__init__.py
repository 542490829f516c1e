"""Layers as objects."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["initializer"])
