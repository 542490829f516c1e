"""Arithmetic on tensors, and sums over their axes."""

import _flotilla as core
from paddle._words import also, code, elementwise, for_v1, named, several
from paddle.base.framework import Variable

from .manipulation import flatten

__all__ = [
    "add",
    "add_n",
    "all",
    "amax",
    "amin",
    "any",
    "atan2",
    "clip",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "divide",
    "floor_divide",
    "floor_mod",
    "fmax",
    "fmin",
    "increment",
    "logcumsumexp",
    "logsumexp",
    "max",
    "maximum",
    "min",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "pow",
    "prod",
    "remainder",
    "renorm",
    "scale",
    "subtract",
    "sum",
]

add = elementwise("add", "elementwise_add", "x + y; y is repeated where x is larger.")
subtract = elementwise("subtract", "elementwise_sub", "x - y.")
multiply = elementwise("multiply", "elementwise_mul", "x * y, element by element.")
divide = elementwise("divide", "elementwise_div", "x / y.")
floor_divide = elementwise("floor_divide", "elementwise_floordiv", "x // y.")
mod = elementwise("mod", "elementwise_mod", "The rest of x / y, with the sign of y.")
maximum = elementwise("maximum", "elementwise_max", "The larger of x and y.")
minimum = elementwise("minimum", "elementwise_min", "The smaller of x and y.")
fmax = elementwise(
    "fmax", "elementwise_fmax", "The larger of x and y; where one is no number, the other."
)
fmin = elementwise(
    "fmin", "elementwise_fmin", "The smaller of x and y; where one is no number, the other."
)
remainder = floor_mod = mod


def pow(x, y, name=None):
    """x to the power of y, a number or a tensor."""
    if isinstance(y, Variable):
        return core.op("elementwise_pow", {"X": x, "Y": y}, {"axis": -1}, name=name)
    return core.op("pow", {"X": x}, {"factor": float(y)}, name=name)


def atan2(x, y, name=None):
    """The angle of the point (y, x): arctan(x / y) in the quadrant of the point."""
    return core.op("atan2", {"X1": x, "X2": y}, name=name)


def nextafter(x, y, name=None):
    """The number beside x on the way to y."""
    return core.op("nextafter", {"x": x, "y": y}, name=name)


def renorm(x, p, axis, max_norm):
    """x, where slices at an index of ``axis`` with a larger p-norm are made shorter."""
    attrs = {"p": float(p), "axis": axis, "max_norm": float(max_norm)}
    return core.op("renorm", {"X": x}, attrs)


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale * x + bias, or scale * (x + bias)."""
    inputs, attrs = {"X": x}, {"bias": float(bias), "bias_after_scale": bias_after_scale}
    if isinstance(scale, Variable):
        inputs["ScaleTensor"] = scale
    else:
        attrs["scale"] = float(scale)
    return core.op("scale", inputs, attrs, name=name, act=act)


def increment(x, value=1.0, name=None):
    """Add ``value`` to ``x``, a tensor of one element, in place."""
    return core.op("increment", {"X": x}, {"step": float(value)}, out=x)


def clip(x, min=None, max=None, name=None):
    """x, but at least ``min`` and at most ``max``; both may be tensors."""
    inputs, attrs = {"X": x}, {"min": -_LARGEST, "max": _LARGEST}
    for bound, slot, value in (("min", "Min", min), ("max", "Max", max)):
        if isinstance(value, Variable):
            inputs[slot] = value
        elif value is not None:
            attrs[bound] = float(value)
    return core.op("clip", inputs, attrs, name=name)


_LARGEST = 3.4028234663852886e38


def add_n(inputs, name=None):
    """The sum of several tensors."""
    return core.op("sum", {"X": several(inputs)}, name=name)


# ---- over axes


def _reduce(type, layer, x, axis, keepdim, name):
    return core.reduce(type, x, axis, keepdim, name, layer, for_v1())


@also(dim="axis", keep_dim="keepdim", input="x")
def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum over ``axis``, one or several, or over all.

    >>> paddle.sum(static.data("x", [None, 3]), axis=1).shape
    (-1,)
    """
    if dtype is None and x.dtype == "bool":
        dtype = "int64"
    return _reduce("reduce_sum", "sum", _cast(x, dtype), axis, keepdim, name)


def _cast(x, dtype):
    if dtype is None or x.dtype == dtype:
        return x
    return core.op("cast", {"X": x}, {"in_dtype": code(x.dtype), "out_dtype": code(dtype)})


def _reduction(word, doc):
    @also(dim="axis", keep_dim="keepdim", input="x")
    def function(x, axis=None, keepdim=False, name=None):
        return _reduce(f"reduce_{word}", word, x, axis, keepdim, name)

    return named(function, word, doc)


max = _reduction("max", "The largest element over ``axis``, one or several, or over all.")
min = _reduction("min", "The smallest element over ``axis``, one or several, or over all.")
all = _reduction("all", "Whether all elements over ``axis`` are true.")
any = _reduction("any", "Whether one element over ``axis`` is true.")
amax = _reduction("amax", "As max; elements that are equally large share the gradient.")
amin = _reduction("amin", "As min; elements that are equally small share the gradient.")


@also(dim="axis", keep_dim="keepdim", input="x")
def prod(x, axis=None, keepdim=False, dtype=None, name=None):
    """The product over ``axis``, one or several, or over all."""
    return _reduce("reduce_prod", "reduce_prod", _cast(x, dtype), axis, keepdim, name)


@also(dim="axis", keep_dim="keepdim")
def logsumexp(x, axis=None, keepdim=False, name=None):
    """log(sum(exp(x))) over ``axis``, one or several, or over all."""
    axes = several(axis)
    whole = [0] if for_v1() else []
    attrs = {"axis": axes or whole, "keepdim": keepdim, "reduce_all": not axes}
    return core.op("logsumexp", {"X": x}, attrs, name=name)


@also(dim="axis", keep_dim="keepdim")
def count_nonzero(x, axis=None, keepdim=False, name=None):
    """How many elements over ``axis`` are not zero."""
    counted = core.op("cast", {"X": x != 0}, {"in_dtype": code("bool"), "out_dtype": code("int64")})
    return _reduce("reduce_sum", "count_nonzero", counted, axis, keepdim, name)


def cumsum(x, axis=None, dtype=None, name=None):
    """The sums of the elements so far along ``axis``; without one, of all in order."""
    return _scan("cumsum", x, axis, dtype, name)


def logcumsumexp(x, axis=None, dtype=None, name=None):
    """log(sum(exp(x))) of the elements so far along ``axis``; without one, of all in order."""
    return _scan("logcumsumexp", x, axis, dtype, name)


def _scan(type, x, axis, dtype, name):
    attrs = {"axis": -1 if axis is None else axis, "flatten": axis is None}
    return core.op(type, {"X": _cast(x, dtype)}, attrs, name=name)


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
