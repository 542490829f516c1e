"""Activations."""

import _flotilla as core
from paddle._rows import rows
from paddle.tensor.manipulation import split
from paddle.tensor.math import multiply
from paddle.tensor.ops import sigmoid, tanh  # noqa: F401

__all__ = [*rows(globals()), "glu", "prelu", "sigmoid", "tanh"]


def glu(x, axis=-1, name=None):
    """The first half of ``x`` along ``axis`` times the sigmoid of the second."""
    value, gate = split(x, 2, axis)
    return multiply(value, sigmoid(gate), name)


def prelu(x, weight, data_format="NCHW", name=None):
    """x above zero, weight * x below; one weight for all, or one for each channel."""
    attrs = {
        "mode": "all" if weight.shape == (1,) else "channel",
        "data_format": "NHWC" if data_format[-1] == "C" and len(data_format) > 2 else "NCHW",
    }
    return core.op("prelu", {"X": x, "Alpha": weight}, attrs, name=name)
