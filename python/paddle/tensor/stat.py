"""Statistics of tensors."""

import _flotilla as core
from paddle._words import also

from .manipulation import cast
from .math import maximum, sum
from .ops import sqrt, square

__all__ = [
    "mean",
    "numel",
    "std",
    "var",
]


@also(dim="axis", keep_dim="keepdim", input="x")
def mean(x, axis=None, keepdim=False, name=None):
    """The mean over ``axis``, one or several, or over all.

    >>> loss = paddle.mean(cost)
    """
    return core.reduce("reduce_mean", x, axis, keepdim, name, "mean")


def var(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The variance over ``axis``; ``unbiased`` divides by one less than the number of elements."""
    squares = square(x - mean(x, axis, True))
    if not unbiased:
        return mean(squares, axis, keepdim, name)
    total = sum(squares, axis, keepdim=keepdim)
    rows = cast(numel(x), x.dtype) / cast(numel(total), x.dtype)
    return total / maximum(rows - 1.0, 1.0)


def std(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The standard deviation over ``axis``."""
    return sqrt(var(x, axis, unbiased, keepdim), name)


def numel(x, name=None):
    """The number of elements, as a tensor."""
    return core.op("size", {"Input": x}, name=name, layer="numel", stop_gradient=True)
