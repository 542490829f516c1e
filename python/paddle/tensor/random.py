"""Tensors of random numbers. ``paddle.seed`` repeats them."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import code, shape_inputs

from .ops import sqrt  # noqa: F401

__all__ = [*rows(globals()), "normal", "randint"]


def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Normally distributed numbers. Mean and deviation may be tensors, which give the shape."""
    made = gaussian  # noqa: F821 - a row
    for given in (mean, std):
        if isinstance(given, core.Variable):
            return mean + std * made(core.op("shape", {"Input": given}), dtype=given.dtype)
    return made([1] if shape is None else shape, mean, std, name=name)


def randint(low=0, high=None, shape=(1,), dtype=None, name=None):
    """Whole numbers from [low, high), or from [0, low)."""
    low, high = (0, low) if high is None else (low, high)
    inputs, extents = shape_inputs(shape, "ShapeTensor", "ShapeTensorList")
    attrs = {"low": low, "high": high, "seed": 0, "shape": extents}
    attrs["dtype"] = code("int64" if dtype is None else dtype)
    return core.op("randint", inputs, attrs, name=name, stop_gradient=True)
