"""Activations."""

import _flotilla as core
from paddle._rows import rows
from paddle.tensor.manipulation import split
from paddle.tensor.math import add, multiply, subtract
from paddle.tensor.ops import sigmoid, tanh  # noqa: F401

__all__ = [*rows(globals()), "glu", "prelu", "sigmoid", "tanh"]


def glu(x, axis=-1, name=None):
    """The first half of ``x`` along ``axis`` times the sigmoid of the second."""
    value, gate = split(x, 2, axis)
    return multiply(value, sigmoid(gate), name)


def prelu(x, weight, data_format="NCHW", name=None):
    """x above zero, weight * x below; one weight for all, or one for each channel."""
    channel = -1 if weight.shape == (1,) or data_format[-1] == "C" else 1
    above = core.op("relu", {"X": x})
    below = subtract(x, above)
    below = core.op("elementwise_mul", {"X": below, "Y": weight}, {"axis": channel})
    return add(above, below, name)
