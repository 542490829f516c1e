"""Arithmetic on tensors, and sums over their axes."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import also, code, named, several
from paddle.base.framework import Variable

from .manipulation import flatten

__all__ = [
    *rows(globals()),
    *("count_nonzero", "cummax", "cummin", "cumprod", "increment", "logsumexp", "pow", "sum"),
]


def pow(x, y, name=None):
    """x to the power of y, a number or a tensor."""
    if isinstance(y, Variable):
        return core.op("elementwise_pow", {"X": x, "Y": y}, {"axis": -1}, name=name)
    return core.op("pow", {"X": x}, {"factor": float(y)}, name=name)


def increment(x, value=1.0, name=None):
    """Add ``value`` to ``x``, a tensor of one element, in place."""
    return core.op("increment", {"X": x}, {"step": float(value)}, out=x)


# ---- over axes


@also(dim="axis", keep_dim="keepdim", input="x")
def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum over ``axis``, one or several, or over all.

    >>> paddle.sum(static.data("x", [None, 3]), axis=1).shape
    (-1,)
    """
    if dtype is None and x.dtype == "bool":
        dtype = "int64"
    return core.reduce("reduce_sum", _cast(x, dtype), axis, keepdim, name, "sum")


def _cast(x, dtype):
    if dtype is None or x.dtype == dtype:
        return x
    return core.op("cast", {"X": x}, {"in_dtype": code(x.dtype), "out_dtype": code(dtype)})


@also(dim="axis", keep_dim="keepdim")
def logsumexp(x, axis=None, keepdim=False, name=None):
    """log(sum(exp(x))) over ``axis``, one or several, or over all."""
    axes = several(axis)
    whole = [0] if core.writes_v1() else []
    attrs = {"axis": axes or whole, "keepdim": keepdim, "reduce_all": not axes}
    return core.op("logsumexp", {"X": x}, attrs, name=name)


@also(dim="axis", keep_dim="keepdim")
def count_nonzero(x, axis=None, keepdim=False, name=None):
    """How many elements over ``axis`` are not zero."""
    counted = core.op("cast", {"X": x != 0}, {"in_dtype": code("bool"), "out_dtype": code("int64")})
    return core.reduce("reduce_sum", counted, axis, keepdim, name, "count_nonzero")


def cumprod(x, dim=None, dtype=None, name=None):
    """The products of the elements so far along ``dim``."""
    if dim is None:
        raise ValueError("cumprod needs dim, the axis along which it multiplies")
    return core.op("cumprod", {"X": _cast(x, dtype)}, {"dim": dim}, name=name)


def _extremes(word, doc):
    def function(x, axis=None, dtype="int64", name=None):
        attrs = {"axis": -1 if axis is None else axis, "dtype": code(dtype)}
        x = x if axis is not None else flatten(x)
        return tuple(core.op(word, {"x": x}, attrs, name=name, outs=["out", "indices"]))

    return named(function, word, doc)


cummax = _extremes("cummax", "The largest elements so far along ``axis``, and where they stand.")
cummin = _extremes("cummin", "The smallest elements so far along ``axis``, and where they stand.")
