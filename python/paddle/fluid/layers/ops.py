"""Functions of one tensor, element by element, and random tensors, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import code, shape_inputs
from paddle.nn.functional.activation import elu, relu, softsign  # noqa: F401
from paddle.nn.functional.activation import log_sigmoid as logsigmoid  # noqa: F401
from paddle.nn.functional.activation import tanhshrink as tanh_shrink  # noqa: F401
from paddle.tensor.ops import (  # noqa: F401
    abs,
    acos,
    asin,
    atan,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    stanh,
    tanh,
)

__all__ = [
    *("abs", "acos", "asin", "atan", "brelu", "ceil", "cos", "elu", "erf", "exp", "floor"),
    *("gaussian_random", "gelu", "hard_shrink", "hard_sigmoid", "hard_swish", "leaky_relu"),
    *("log", "log1p", "logsigmoid", "mish", "reciprocal", "relu", "relu6", "round", "rsqrt"),
    *("selu", "sigmoid", "sign", "sin", "softplus", "softshrink", "softsign", "sqrt", "square"),
    *("stanh", "swish", "tanh", "tanh_shrink", "thresholded_relu", "uniform_random"),
    "uniform_random_batch_size_like",
]


def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """x between ``t_min`` and ``t_max``."""
    return core.op("brelu", {"X": x}, {"t_min": float(t_min), "t_max": float(t_max)}, name=name)


def gelu(x, approximate=False):
    """x times the normal distribution function of x, or its approximation by tanh."""
    return core.op("gelu", {"X": x}, {"approximate": approximate})


def hard_shrink(x, threshold=None):
    """x where |x| > threshold, by default 0.5, 0 elsewhere."""
    return core.op("hard_shrink", {"X": x}, {"threshold": threshold})


def hard_sigmoid(x, slope=0.2, offset=0.5, name=None):
    """slope * x + offset, between 0 and 1."""
    attrs = {"slope": float(slope), "offset": float(offset)}
    return core.op("hard_sigmoid", {"X": x}, attrs, name=name)


def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """x * min(max(x + offset, 0), threshold) / scale."""
    attrs = {"threshold": float(threshold), "scale": float(scale), "offset": float(offset)}
    return core.op("hard_swish", {"X": x}, attrs, name=name)


def leaky_relu(x, alpha=0.02, name=None):
    """x above zero, alpha * x below."""
    return core.op("leaky_relu", {"X": x}, {"alpha": float(alpha)}, name=name)


def log1p(x, out=None, name=None):
    """The natural logarithm of 1 + x."""
    return core.op("log1p", {"X": x}, out=out, name=name)


def mish(x, threshold=20, name=None):
    """x * tanh(softplus(x)); softplus is x itself above the threshold."""
    return core.op("mish", {"X": x}, {"threshold": float(threshold)}, name=name)


def relu6(x, threshold=6.0, name=None):
    """min(max(x, 0), threshold)."""
    return core.op("relu6", {"X": x}, {"threshold": float(threshold)}, name=name)


def selu(x, scale=None, alpha=None, name=None):
    """scale * elu(x, alpha)."""
    return core.op("selu", {"X": x}, {"scale": scale, "alpha": alpha}, name=name)


def softplus(x, name=None):
    """log(1 + exp(x))."""
    return core.op("softplus", {"X": x}, name=name)


def softshrink(x, alpha=None):
    """x moved towards zero by alpha, by default 0.5."""
    return core.op("softshrink", {"X": x}, {"lambda": alpha})


def swish(x, beta=1.0, name=None):
    """x / (1 + exp(-beta * x))."""
    return core.op("swish", {"X": x}, {"beta": float(beta)}, name=name)


def thresholded_relu(x, threshold=None):
    """x above the threshold, by default 1, 0 elsewhere."""
    return core.op("thresholded_relu", {"X": x}, {"threshold": threshold})


# ---- random


def _random(type, shape, **attrs):
    inputs, attrs["shape"] = shape_inputs(shape, "ShapeTensor", "ShapeTensorList")
    return core.op(type, inputs, attrs, stop_gradient=True)


def uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0, name=None):
    """Numbers spread evenly over [min, max)."""
    attrs = {"min": float(min), "max": float(max), "seed": seed, "dtype": code(dtype)}
    return _random("uniform_random", shape, **attrs)


def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32", name=None):
    """Normally distributed numbers."""
    attrs = {"mean": float(mean), "std": float(std), "seed": seed, "dtype": code(dtype)}
    return _random("gaussian_random", shape, **attrs)


def uniform_random_batch_size_like(
    input,
    shape,
    dtype="float32",
    input_dim_idx=0,
    output_dim_idx=0,
    min=-1.0,
    max=1.0,
    seed=0,
):
    """Numbers spread evenly over [min, max), with one extent taken from ``input``."""
    attrs = {"shape": list(shape), "dtype": code(dtype), "min": float(min), "max": float(max)}
    attrs.update(input_dim_idx=input_dim_idx, output_dim_idx=output_dim_idx, seed=seed)
    type = "uniform_random_batch_size_like"
    return core.op(type, {"Input": input}, attrs, stop_gradient=True)


__getattr__, __dir__ = names_of(__name__)
