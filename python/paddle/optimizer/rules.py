"""Optimizers by their rules."""

from .optimizer import Optimizer

__all__ = [
    *("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "RMSProp", "Adadelta", "Adamax", "Lamb"),
]


class SGD(Optimizer):
    """p -= lr * g."""

    _type = "sgd"

    def __init__(
        self,
        learning_rate=0.001,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        self._make(learning_rate, parameters, weight_decay, grad_clip, name)


class Momentum(Optimizer):
    """v = momentum * v + g; p -= lr * v, or with ``use_nesterov`` lr * (g + momentum * v)."""

    _type = "momentum"

    def __init__(
        self,
        learning_rate=0.001,
        momentum=0.9,
        parameters=None,
        use_nesterov=False,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        rescale_grad=1.0,
        use_multi_tensor=False,
        name=None,
    ):
        attrs = {"mu": momentum, "use_nesterov": use_nesterov, "rescale_grad": rescale_grad}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class Adam(Optimizer):
    """m and v follow g and g^2; p -= lr * m / (sqrt(v) + epsilon), both without their bias.

    ``lazy_mode``: a sparse gradient moves only the rows that it has.
    """

    _type = "adam"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        use_multi_tensor=False,
        name=None,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "lazy_mode": lazy_mode}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class AdamW(Optimizer):
    """Adam, with p -= lr * weight_decay * p beside it.

    ``apply_decay_param_fun``: says for the name of a parameter whether it decays.
    """

    _type = "adamw"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameters=None,
        weight_decay=0.01,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        name=None,
    ):
        if lr_ratio is not None:
            raise ValueError(
                "lr_ratio is not there yet; ParamAttr(learning_rate=...) does the same"
            )
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "lazy_mode": lazy_mode}
        attrs["coeff"] = float(weight_decay)
        fun = apply_decay_param_fun
        decays = None if fun is None else lambda parameter: fun(parameter.name)
        self._make(learning_rate, parameters, None, grad_clip, name, attrs, decays)


class Adagrad(Optimizer):
    """m += g^2; p -= lr * g / (sqrt(m) + epsilon)."""

    _type = "adagrad"

    def __init__(
        self,
        learning_rate,
        epsilon=1e-06,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        attrs = {"epsilon": epsilon, "initial_accumulator_value": initial_accumulator_value}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class RMSProp(Optimizer):
    """s follows g^2; p -= lr * g / sqrt(s + epsilon), with momentum; ``centered`` subtracts
    the square of what follows g."""

    _type = "rmsprop"

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-06,
        momentum=0.0,
        centered=False,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"decay": rho, "epsilon": epsilon, "momentum": momentum, "centered": centered}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class Adadelta(Optimizer):
    """The step is g times the ratio of what follows former steps and former gradients."""

    _type = "adadelta"

    def __init__(
        self,
        learning_rate=0.001,
        epsilon=1e-06,
        rho=0.95,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"epsilon": epsilon, "rho": rho}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class Adamax(Optimizer):
    """Adam with the largest |g| so far instead of the root of v."""

    _type = "adamax"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        self._make(learning_rate, parameters, weight_decay, grad_clip, name, attrs)


class Lamb(Optimizer):
    """Adam's step, scaled to the norm of the parameter.

    ``exclude_from_weight_decay_fn``: says for a parameter whether it does not decay.
    """

    _type = "lamb"

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-06,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        multi_precision=False,
        always_adapt=False,
        name=None,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        attrs.update(weight_decay=lamb_weight_decay, always_adapt=always_adapt)
        exclude = exclude_from_weight_decay_fn
        decays = None if exclude is None else lambda parameter: not exclude(parameter)
        self._make(learning_rate, parameters, None, grad_clip, name, attrs, decays)
