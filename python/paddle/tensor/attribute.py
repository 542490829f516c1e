"""What a tensor is: its shape and type."""

from paddle._rows import rows
from paddle._words import is_floating

from .creation import fill

__all__ = [*rows(globals()), "is_floating_point", "is_integer", "rank"]


def rank(input):
    """The number of axes, as a tensor."""
    return fill([1], len(input.shape), "int32")


def is_floating_point(x):
    """Whether the elements are floating-point numbers."""
    return is_floating(x)


def is_integer(x):
    """Whether the elements are whole numbers."""
    return "int" in x.dtype_name
