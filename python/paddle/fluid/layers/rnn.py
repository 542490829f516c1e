"""Recurrent layers over sequences, in the words of 1.x."""

from paddle._names import names_of
from paddle._rows import rows

__all__ = rows(globals())

__getattr__, __dir__ = names_of(__name__)
