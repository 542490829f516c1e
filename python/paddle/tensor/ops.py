"""Functions of one tensor, element by element."""

from paddle._rows import rows

__all__ = rows(globals())
