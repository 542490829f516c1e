"""Layers as objects."""

from paddle._names import names_of
from paddle._rows import rows

__all__ = rows(globals())

__getattr__, __dir__ = names_of(__name__)
