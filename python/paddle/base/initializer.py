"""Initializers: how a parameter gets its first value. An instance called on a variable and a block
appends the op. Those of 2.x first, then those of 1.x, whose words differ."""

import numpy as np

import _flotilla as core

Initializer = core.Initializer


class Constant(Initializer):
    """Every element is ``value``."""

    def __init__(self, value=0.0):
        super().__init__("constant", value)


class Uniform(Initializer):
    """Uniform between ``low`` and ``high``."""

    def __init__(self, low=-1.0, high=1.0, name=None):
        super().__init__("uniform", low, high)


class Normal(Initializer):
    """Normal with a mean and a standard deviation."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        super().__init__("normal", mean, std)


class TruncatedNormal(Initializer):
    """Normal, drawn again where it is more than two standard deviations from the mean."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        super().__init__("truncated_normal", mean, std)


class XavierUniform(Initializer):
    """Uniform with the variance 2 / (fan_in + fan_out)."""

    def __init__(self, fan_in=None, fan_out=None, name=None):
        super().__init__("xavier", uniform=True, fan_in=fan_in, fan_out=fan_out)


class XavierNormal(Initializer):
    """Normal with the variance 2 / (fan_in + fan_out)."""

    def __init__(self, fan_in=None, fan_out=None, name=None):
        super().__init__("xavier", uniform=False, fan_in=fan_in, fan_out=fan_out)


class KaimingUniform(Initializer):
    """Uniform with the variance gain^2 / fan_in."""

    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu"):
        super().__init__("msra", **_kaiming(True, fan_in, negative_slope, nonlinearity))


class KaimingNormal(Initializer):
    """Normal with the variance gain^2 / fan_in."""

    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu"):
        super().__init__("msra", **_kaiming(False, fan_in, negative_slope, nonlinearity))


def _kaiming(uniform, fan_in, negative_slope, nonlinearity):
    if nonlinearity not in ("relu", "leaky_relu"):
        raise ValueError(f'nonlinearity must be "relu" or "leaky_relu", but is {nonlinearity!r}')
    leaky = nonlinearity == "leaky_relu"
    slope = negative_slope or 0.0
    return {"uniform": uniform, "fan_in": fan_in, "negative_slope": slope, "leaky": leaky}


class Assign(Initializer):
    """The elements of an array or a list."""

    def __init__(self, value, name=None):
        super().__init__("values", values=np.asarray(value, "float64").ravel().tolist())


# ---- 1.x


class ConstantInitializer(Initializer):
    """Every element is ``value``."""

    def __init__(self, value=0.0, force_cpu=False):
        super().__init__("constant", value)


class UniformInitializer(Initializer):
    """Uniform between ``low`` and ``high``."""

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        if diag_num:
            raise ValueError(
                "values on the diagonal are not implemented, so diag_num must be 0, but is "
                f"{diag_num}"
            )
        super().__init__("uniform", low, high, seed=seed)


class NormalInitializer(Initializer):
    """Normal with the mean ``loc`` and the standard deviation ``scale``."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__("normal", loc, scale, seed=seed)


class TruncatedNormalInitializer(Initializer):
    """Normal, drawn again where it is more than two standard deviations from the mean."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__("truncated_normal", loc, scale, seed=seed)


class XavierInitializer(Initializer):
    """Uniform or normal with the variance 2 / (fan_in + fan_out)."""

    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0):
        super().__init__("xavier", uniform=uniform, fan_in=fan_in, fan_out=fan_out, seed=seed)


class MSRAInitializer(Initializer):
    """Uniform or normal with the variance 2 / fan_in."""

    def __init__(self, uniform=True, fan_in=None, seed=0):
        super().__init__("msra", uniform=uniform, fan_in=fan_in, seed=seed)


class NumpyArrayInitializer(Assign):
    """The elements of an array."""

    def __init__(self, value):
        super().__init__(value)


def set_global_initializer(weight_init, bias_init=None):
    """Choose the initializer of parameters without one; None restores the layers' defaults."""
    for what, init in (("weight_init", weight_init), ("bias_init", bias_init)):
        if init is not None and not isinstance(init, Initializer):
            raise TypeError(f"{what} must be an initializer or None, but is {init!r}")
    core.set_global_initializer(weight_init, bias_init)
