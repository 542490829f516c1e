"""Layers as objects."""

from paddle._rows import rows

__all__ = rows(globals())
