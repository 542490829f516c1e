"""Functions of variables, and the operators and methods of variables."""

from paddle._rows import rows

from . import methods  # noqa: F401
from .creation import fill_constant  # noqa: F401

__all__ = rows(globals())
