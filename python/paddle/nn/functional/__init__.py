"""Layers and losses as functions of variables."""

from paddle._rows import rows

__all__ = rows(globals())
