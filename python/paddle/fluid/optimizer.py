"""Optimizers in the words of 1.x."""

from paddle import optimizer as _new
from paddle._names import names_of
from paddle.optimizer import Optimizer  # noqa: F401


class SGDOptimizer(_new.SGD):
    """p -= lr * g."""

    def __init__(
        self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None
    ):
        self._make(learning_rate, parameter_list, regularization, grad_clip, name)


class MomentumOptimizer(_new.Momentum):
    """v = momentum * v + g; p -= lr * v, or with ``use_nesterov`` lr * (g + momentum * v)."""

    def __init__(
        self,
        learning_rate,
        momentum,
        parameter_list=None,
        use_nesterov=False,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"mu": momentum, "use_nesterov": use_nesterov}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class AdamOptimizer(_new.Adam):
    """Adam; ``lazy_mode``: a sparse gradient moves only the rows that it has."""

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        lazy_mode=False,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon, "lazy_mode": lazy_mode}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class AdagradOptimizer(_new.Adagrad):
    """m += g^2; p -= lr * g / (sqrt(m) + epsilon)."""

    def __init__(
        self,
        learning_rate,
        epsilon=1e-06,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        attrs = {"epsilon": epsilon, "initial_accumulator_value": initial_accumulator_value}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class RMSPropOptimizer(_new.RMSProp):
    """s follows g^2; p -= lr * g / sqrt(s + epsilon), with momentum."""

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-06,
        momentum=0.0,
        centered=False,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"decay": rho, "epsilon": epsilon, "momentum": momentum, "centered": centered}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class AdadeltaOptimizer(_new.Adadelta):
    """The step is g times the ratio of what follows former steps and former gradients."""

    def __init__(
        self,
        learning_rate,
        epsilon=1e-06,
        rho=0.95,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"epsilon": epsilon, "rho": rho}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class AdamaxOptimizer(_new.Adamax):
    """Adam with the largest |g| so far instead of the root of v."""

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class LambOptimizer(_new.Lamb):
    """Adam's step, scaled to the norm of the parameter."""

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-06,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        name=None,
    ):
        attrs = {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        attrs["weight_decay"] = lamb_weight_decay
        exclude = exclude_from_weight_decay_fn
        decays = None if exclude is None else lambda parameter: not exclude(parameter)
        rest = (regularization, grad_clip, name, attrs, decays)
        self._make(learning_rate, parameter_list, *rest)


class LarsMomentumOptimizer(_new.Optimizer):
    """Momentum with a rate for each parameter from its norm and that of its gradient."""

    _type = "lars_momentum"

    def __init__(
        self,
        learning_rate,
        momentum,
        lars_coeff=0.001,
        lars_weight_decay=0.0005,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"mu": momentum, "lars_coeff": lars_coeff}
        attrs["lars_weight_decay"] = [float(lars_weight_decay)]
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


class FtrlOptimizer(_new.Optimizer):
    """Follows the regularised leader: L1 and L2 keep parameters at or near zero."""

    _type = "ftrl"

    def __init__(
        self,
        learning_rate,
        l1=0.0,
        l2=0.0,
        lr_power=-0.5,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        attrs = {"l1": l1, "l2": l2, "lr_power": lr_power}
        self._make(learning_rate, parameter_list, regularization, grad_clip, name, attrs)


SGD, Momentum, Adam = SGDOptimizer, MomentumOptimizer, AdamOptimizer
Adagrad, Adadelta, Adamax = AdagradOptimizer, AdadeltaOptimizer, AdamaxOptimizer
LarsMomentum, Ftrl = LarsMomentumOptimizer, FtrlOptimizer

__getattr__, __dir__ = names_of(__name__)
