"""Functions of tensors that 1.8 had in `fluid.layers` before they moved to `paddle`."""

import _flotilla as core
from paddle._names import names_of
from paddle._rows import rows
from paddle._words import code, several
from paddle.base.framework import Variable
from paddle.tensor import creation, random

__all__ = [
    *rows(globals()),
    *("addcmul", "crop", "full", "full_like", "randint", "randn", "randperm"),
]


def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor of ``shape`` that holds one number everywhere."""
    return _into(creation.full(shape, fill_value, dtype, name), out, stop_gradient)


def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor like ``input`` that holds one number everywhere."""
    return _into(creation.full_like(input, fill_value, dtype, name), out, stop_gradient)


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


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """input + value * tensor1 * tensor2."""
    return _into(input + tensor1 * tensor2 * float(value), out, False)


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
