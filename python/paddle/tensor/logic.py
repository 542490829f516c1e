"""Comparisons, logic and bits."""

from paddle._rows import rows
from paddle.base.framework import Variable

__all__ = [*rows(globals()), "is_tensor"]


def is_tensor(x):
    """Whether ``x`` is a variable of a program."""
    return isinstance(x, Variable)
