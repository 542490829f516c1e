"""Activations."""

import _flotilla as core
from paddle._words import unary
from paddle.tensor.manipulation import cast, split
from paddle.tensor.math import add, multiply, subtract
from paddle.tensor.ops import sigmoid, tanh  # noqa: F401

__all__ = [
    *("celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh"),
    *("leaky_relu", "log_sigmoid", "log_softmax", "mish", "prelu", "relu", "relu6", "selu"),
    *("sigmoid", "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh"),
    *("maxout", "rrelu", "tanhshrink", "thresholded_relu"),
]

log_sigmoid = unary("log_sigmoid", "log(1 / (1 + exp(-x))).", "logsigmoid")
relu = unary("relu", "max(x, 0).")
relu6 = unary("relu6", "min(max(x, 0), 6).")
silu = unary("silu", "x / (1 + exp(-x)).")
softsign = unary("softsign", "x / (1 + |x|).")
swish = unary("swish", "x / (1 + exp(-x)).")
tanhshrink = unary("tanhshrink", "x - tanh(x).", "tanh_shrink", "tanh_shrink")


def celu(x, alpha=1.0, name=None):
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""
    return core.op("celu", {"X": x}, {"alpha": float(alpha)}, name=name)


def elu(x, alpha=1.0, name=None):
    """x above zero, alpha * (exp(x) - 1) below."""
    return core.op("elu", {"X": x}, {"alpha": float(alpha)}, name=name)


def gelu(x, approximate=False, name=None):
    """x times the normal distribution function of x, or its approximation by tanh."""
    return core.op("gelu", {"X": x}, {"approximate": approximate}, name=name)


def glu(x, axis=-1, name=None):
    """The first half of ``x`` along ``axis`` times the sigmoid of the second."""
    value, gate = split(x, 2, axis)
    return multiply(value, sigmoid(gate), name)


def hardshrink(x, threshold=0.5, name=None):
    """x where |x| > threshold, 0 elsewhere."""
    attrs = {"threshold": float(threshold)}
    return core.op("hard_shrink", {"X": x}, attrs, name=name, layer="hardshrink")


def hardsigmoid(x, slope=0.1666667, offset=0.5, name=None):
    """slope * x + offset, between 0 and 1."""
    attrs = {"slope": float(slope), "offset": float(offset)}
    return core.op("hard_sigmoid", {"X": x}, attrs, name=name, layer="hardsigmoid")


def hardswish(x, name=None):
    """x * min(max(x + 3, 0), 6) / 6."""
    return core.op("hard_swish", {"X": x}, name=name, layer="hardswish")


def hardtanh(x, min=-1.0, max=1.0, name=None):
    """x between ``min`` and ``max``."""
    attrs = {"t_min": float(min), "t_max": float(max)}
    return core.op("brelu", {"X": x}, attrs, name=name, layer="hardtanh")


def leaky_relu(x, negative_slope=0.01, name=None):
    """x above zero, negative_slope * x below."""
    return core.op("leaky_relu", {"X": x}, {"alpha": float(negative_slope)}, name=name)


def mish(x, name=None):
    """x * tanh(softplus(x))."""
    return core.op("mish", {"X": x}, name=name)


def prelu(x, weight, data_format="NCHW", name=None):
    """x above zero, weight * x below; one weight for all, or one for each channel."""
    channel = -1 if weight.shape == (1,) or data_format[-1] == "C" else 1
    above = relu(x)
    below = subtract(x, above)
    below = core.op("elementwise_mul", {"X": below, "Y": weight}, {"axis": channel})
    return add(above, below, name)


def rrelu(x, lower=1.0 / 8.0, upper=1.0 / 3.0, training=True, name=None):
    """x above zero, x times numbers below, drawn from [lower, upper] or all in its middle."""
    attrs = {"lower": lower, "upper": upper, "is_test": not training}
    return core.op("rrelu", {"X": x}, attrs, outs=["Out", "Noise"], name=name)[0]


def selu(
    x, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None
):
    """scale * elu(x, alpha)."""
    return core.op("selu", {"X": x}, {"scale": float(scale), "alpha": float(alpha)}, name=name)


def maxout(x, groups, axis=1, name=None):
    """The largest of each ``groups`` channels that follow one another."""
    return core.op("maxout", {"X": x}, {"groups": groups, "axis": axis}, name=name)


def softmax(x, axis=-1, dtype=None, name=None):
    """Scale each slice of ``x`` along ``axis`` to positive numbers whose sum is one.

    >>> softmax(paddle.static.data("x", [None, 3])).shape
    (-1, 3)
    """
    if dtype is not None:
        x = cast(x, dtype)
    return core.op("softmax", {"X": x}, {"axis": axis}, name=name)


def log_softmax(x, axis=-1, dtype=None, name=None):
    """The logarithm of softmax."""
    if dtype is not None:
        x = cast(x, dtype)
    return core.op("log_softmax", {"X": x}, {"axis": axis}, name=name)


def softplus(x, beta=1, threshold=20, name=None):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    attrs = {"beta": float(beta), "threshold": float(threshold)}
    return core.op("softplus", {"X": x}, attrs, name=name)


def softshrink(x, threshold=0.5, name=None):
    """x moved towards zero by the threshold."""
    return core.op("softshrink", {"X": x}, {"lambda": float(threshold)}, name=name)


def thresholded_relu(x, threshold=1.0, name=None):
    """x above the threshold, 0 elsewhere."""
    return core.op("thresholded_relu", {"X": x}, {"threshold": float(threshold)}, name=name)
