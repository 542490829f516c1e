"""Tensors of random numbers. ``paddle.seed`` repeats them."""

import _flotilla as core
from paddle._words import code, shape_inputs

from .ops import sqrt  # noqa: F401

__all__ = [
    "bernoulli",
    "gaussian",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "randint",
    "randn",
    "randperm",
    "standard_normal",
    "uniform",
]


def _random(type, shape, name, layer, **attrs):
    inputs, attrs["shape"] = shape_inputs(shape, "ShapeTensor", "ShapeTensorList")
    return core.op(type, inputs, attrs, name=name, layer=layer, stop_gradient=True)


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None):
    """Numbers spread evenly over [min, max).

    >>> paddle.uniform([2, 3], min=0.0, max=1.0)
    """
    attrs = {"min": float(min), "max": float(max), "seed": seed, "dtype": code(dtype)}
    return _random("uniform_random", shape, name, "uniform", **attrs)


def rand(shape, dtype=None, name=None):
    """Numbers spread evenly over [0, 1)."""
    return uniform(shape, dtype, 0.0, 1.0, name=name)


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """Normally distributed numbers."""
    attrs = {"mean": float(mean), "std": float(std), "seed": seed, "dtype": code(dtype)}
    return _random("gaussian_random", shape, name, "gaussian", **attrs)


def standard_normal(shape, dtype=None, name=None):
    """Normally distributed numbers with mean 0 and standard deviation 1."""
    return gaussian(shape, dtype=dtype, name=name)


randn = standard_normal


def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Normally distributed numbers. Mean and deviation may be tensors, which give the shape."""
    for given in (mean, std):
        if isinstance(given, core.Variable):
            return mean + std * standard_normal(core.op("shape", {"Input": given}), given.dtype)
    return gaussian([1] if shape is None else shape, mean, std, name=name)


def randint(low=0, high=None, shape=(1,), dtype=None, name=None):
    """Whole numbers from [low, high), or from [0, low)."""
    low, high = (0, low) if high is None else (low, high)
    attrs = {"low": low, "high": high, "seed": 0}
    attrs["dtype"] = code("int64" if dtype is None else dtype)
    return _random("randint", shape, name, "randint", **attrs)


def randperm(n, dtype="int64", name=None):
    """The numbers 0, 1, ..., n - 1 in random order."""
    attrs = {"n": n, "seed": 0, "dtype": code(dtype)}
    return core.op("randperm", None, attrs, name=name, stop_gradient=True)


def bernoulli(x, name=None):
    """One with the probability in ``x``, zero otherwise."""
    return core.op("bernoulli", {"X": x}, name=name)


def multinomial(x, num_samples=1, replacement=False, name=None):
    """Places in each row of ``x``, drawn by the weights there.

    >>> paddle.multinomial(weights, num_samples=2)
    """
    attrs = {"num_samples": num_samples, "replacement": replacement}
    return core.op("multinomial", {"X": x}, attrs, name=name, stop_gradient=True)


def poisson(x, name=None):
    """How many events happen of which ``x`` are expected."""
    return core.op("poisson", {"X": x}, name=name)
