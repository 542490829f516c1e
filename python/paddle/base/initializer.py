"""Initializers: how a parameter gets its first value. An instance called on a variable and a block
appends the op."""

import contextlib

import numpy as np

import _flotilla as core
from paddle._rows import rows

Initializer = core.Initializer


class _Kaiming(Initializer):
    def __init__(self, uniform, fan_in, negative_slope, nonlinearity):
        if nonlinearity not in ("relu", "leaky_relu"):
            raise ValueError(
                f'nonlinearity must be "relu" or "leaky_relu", but is {nonlinearity!r}'
            )
        leaky, slope = nonlinearity == "leaky_relu", negative_slope or 0.0
        words = {"uniform": uniform, "fan_in": fan_in, "negative_slope": slope}
        super().__init__("msra", **words, leaky=leaky)


class Assign(Initializer):
    """The elements of an array or a list."""

    def __init__(self, value, name=None):
        super().__init__("values", values=np.asarray(value, "float64").ravel().tolist())


class UniformInitializer(Initializer):
    """Uniform between ``low`` and ``high``."""

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        if diag_num:
            raise ValueError(
                "values on the diagonal are not implemented, so diag_num must be 0, but is "
                f"{diag_num}"
            )
        super().__init__("uniform", low, high, seed=seed)


rows(globals())


def set_global_initializer(weight_init, bias_init=None):
    """Choose the initializer of parameters without one; None restores the layers' defaults."""
    for what, init in (("weight_init", weight_init), ("bias_init", bias_init)):
        if init is not None and not isinstance(init, Initializer):
            raise TypeError(f"{what} must be an initializer or None, but is {init!r}")
    core.set_global_initializer(weight_init, bias_init)


@contextlib.contextmanager
def init_on_cpu():
    """A ``with`` block whose variables get their first values on the CPU, as all do."""
    yield


def force_init_on_cpu():
    """Whether such a block is open; it makes no difference."""
    return False
