"""Functions of tensors that 1.8 had in `fluid.layers` before they moved to `paddle`."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import code, several, writes_v1
from paddle.base.framework import Variable
from paddle.tensor import creation, linalg, manipulation, random, search

__all__ = [
    *("addcmul", "allclose", "arange", "crop", "crop_tensor", "dist", "full", "full_like"),
    *("nonzero", "randint", "randn", "randperm"),
]


def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor of ``shape`` that holds one number everywhere."""
    return _into(creation.full(shape, fill_value, dtype, name), out, stop_gradient)


def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor like ``input`` that holds one number everywhere."""
    return _into(creation.full_like(input, fill_value, dtype, name), out, stop_gradient)


def arange(start, end, step=1, dtype=None, name=None):
    """Numbers from ``start`` on, ``step`` apart, below ``end``."""
    return creation.arange(start, end, step, dtype, name)


def randint(
    low,
    high=None,
    shape=None,
    out=None,
    dtype=None,
    device=None,
    stop_gradient=False,
    seed=0,
    name=None,
):
    """Whole numbers from [low, high), or from [0, low)."""
    low, high = (0, low) if high is None else (low, high)
    attrs = {"low": low, "high": high, "seed": seed, "shape": list(shape or [1])}
    attrs["dtype"] = code(dtype or "int64")
    return _into(core.op("randint", None, attrs, name=name), out, stop_gradient)


def randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """Normally distributed numbers."""
    return _into(random.randn(shape, dtype, name), out, stop_gradient)


def randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0):
    """The numbers below ``n`` in random order."""
    attrs = {"n": n, "seed": seed, "dtype": code(dtype)}
    return _into(core.op("randperm", None, attrs), out, stop_gradient)


def nonzero(input, as_tuple=False):
    """The places of elements that are not zero."""
    return search.nonzero(input, as_tuple)


@writes_v1
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether no element is further from the other than atol + rtol * |other|."""
    attrs = {"rtol": float(rtol), "atol": float(atol), "equal_nan": equal_nan}
    inputs = {"Input": input, "Other": other}
    return core.op("allclose", inputs, attrs, name=name, stop_gradient=True)


def dist(x, y, p=2):
    """The p-norm of a difference."""
    return linalg.dist(x, y, p)


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """input + value * tensor1 * tensor2."""
    return _into(input + tensor1 * tensor2 * float(value), out, False)


def crop_tensor(x, shape=None, offsets=None, name=None):
    """A piece of ``x`` of ``shape``, from ``offsets`` on; -1 takes what is left along an axis."""
    return manipulation.crop(x, shape, offsets, name)


def crop(x, shape=None, offsets=None, name=None):
    """:func:`crop_tensor`; where ``shape`` is a variable, its shape is meant."""
    inputs, attrs = {"X": x}, {}
    if isinstance(shape, Variable):
        inputs["Y"] = shape
    else:
        attrs["shape"] = several(shape)
    if isinstance(offsets, Variable):
        inputs["Offsets"] = offsets
    else:
        attrs["offsets"] = list(offsets or [0] * len(x.shape))
    return core.op("crop", inputs, attrs, name=name)


def _into(made, out, stop_gradient):
    """``made``, or ``out`` with its elements."""
    made.stop_gradient = stop_gradient
    return made if out is None else core.op("assign", {"X": made}, out=out)


__getattr__, __dir__ = names_of(__name__)
