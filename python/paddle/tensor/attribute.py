"""What a tensor is: its shape and type."""

import _flotilla as core
from paddle._words import is_floating

from .creation import fill

__all__ = [
    "is_floating_point",
    "is_integer",
    "rank",
    "shape",
]


def shape(input):
    """The extents as a tensor; one that is known only when the program runs is right there.

    >>> batch = paddle.shape(x)[0]
    """
    return core.op("shape", {"Input": input}, stop_gradient=True)


def rank(input):
    """The number of axes, as a tensor."""
    return fill([1], len(input.shape), "int32")


def is_floating_point(x):
    """Whether the elements are floating-point numbers."""
    return is_floating(x)


def is_integer(x):
    """Whether the elements are whole numbers."""
    return "int" in x.dtype_name
