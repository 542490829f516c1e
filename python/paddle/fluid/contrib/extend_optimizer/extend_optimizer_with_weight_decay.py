"""Weight decay beside the gradients: Loshchilov, Hutter: Decoupled weight decay, 2019."""

from paddle._words import of_kind
from paddle.base.framework import Variable
from paddle.optimizer import Optimizer
from paddle.tensor.creation import assign

__all__ = ["extend_with_decoupled_weight_decay"]


class DecoupledWeightDecay:
    """Mixed into an optimizer: before each update a parameter loses a share of itself."""

    def __init__(self, coeff=0.0, apply_decay_param_fun=None, **kwargs):
        said = "weight_decay must be a number or a variable, but is of type"
        of_kind(coeff, (int, float, Variable), said)
        self._coeff, self._apply_decay_param_fun = coeff, apply_decay_param_fun
        super().__init__(**kwargs)

    def apply_gradients(self, params_grads):
        """Append the decay and the updates; returns the ops of the updates."""
        self._decay(params_grads)
        return super().apply_gradients(params_grads)

    def apply_optimize(self, loss, startup_program, params_grads):
        """Append the decay and the updates to the program of ``loss``; returns the updates."""
        self._decay(params_grads)
        return super().apply_optimize(loss, startup_program, params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Append gradients, decay and updates; returns (update ops, [(parameter, gradient)])."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def _decay(self, params_grads):
        wanted = self._apply_decay_param_fun or (lambda name: True)
        if not isinstance(self._coeff, Variable) and self._coeff == 0:
            return
        for parameter, gradient in params_grads:
            if gradient is None or not wanted(parameter.name):
                continue
            with parameter.block.program._optimized_guard([parameter, gradient]):
                assign(parameter - parameter * self._coeff, parameter)


def extend_with_decoupled_weight_decay(base_optimizer):
    """A class like ``base_optimizer`` whose first word is ``weight_decay``, the share of each
    parameter that is taken away before each update.

    ``apply_decay_param_fun``: tells for a parameter's name whether it decays.

    >>> AdamW = extend_with_decoupled_weight_decay(fluid.optimizer.Adam)
    >>> AdamW(weight_decay=0.01, learning_rate=0.001).minimize(loss)
    """
    if not (isinstance(base_optimizer, type) and issubclass(base_optimizer, Optimizer)):
        raise TypeError(f"the class of an optimizer is expected, but {base_optimizer!r} was given")

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecay, base_optimizer):
        __doc__ = base_optimizer.__doc__

        def __init__(self, weight_decay, apply_decay_param_fun=None, **kwargs):
            super().__init__(weight_decay, apply_decay_param_fun, **kwargs)

    return OptimizerWithDecoupledWeightDecay
