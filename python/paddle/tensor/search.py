"""Order, places and choices of elements."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import code

__all__ = [*rows(globals()), "argmax", "argmin"]


def _arg(type, word, x, axis, keepdim, dtype, name):
    attrs = {
        "axis": 0 if axis is None else axis,
        "keepdims": keepdim,
        "flatten": axis is None,
        "dtype": code(dtype),
    }
    return core.op(type, {"X": x}, attrs, name=name, layer=word, stop_gradient=True)


def argmax(x, axis=None, keepdim=False, dtype="int64", name=None):
    """The place of the largest element along ``axis``, or among all."""
    return _arg("arg_max", "argmax", x, axis, keepdim, dtype, name)


def argmin(x, axis=None, keepdim=False, dtype="int64", name=None):
    """The place of the smallest element along ``axis``, or among all."""
    return _arg("arg_min", "argmin", x, axis, keepdim, dtype, name)
