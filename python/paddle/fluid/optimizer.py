"""Optimizers in the API of 1.x."""

import warnings

import _flotilla

from paddle import optimizer as _new
from paddle._rows import rows
from paddle._words import of_kind
from paddle.base.clip import ClipGradByNorm as _ByNorm
from paddle.base.framework import default_main_program, program_guard
from paddle.optimizer import Optimizer  # noqa: F401
from paddle.optimizer.rules import old_class as _old_class
from paddle.tensor.random import gaussian

rows(globals())


def _made(word):
    return _old_class(word, getattr(_new.rules, word, Optimizer), __name__)


SGD = SGDOptimizer = _made("SGD")
Momentum = MomentumOptimizer = _made("Momentum")
Adam = AdamOptimizer = _made("Adam")
Adagrad = AdagradOptimizer = _made("Adagrad")
DecayedAdagrad = DecayedAdagradOptimizer = _made("DecayedAdagrad")
Adadelta = AdadeltaOptimizer = _made("Adadelta")
Adamax = AdamaxOptimizer = _made("Adamax")
RMSProp = RMSPropOptimizer = _made("RMSProp")
Lamb = LambOptimizer = _made("Lamb")
LarsMomentum = LarsMomentumOptimizer = _made("LarsMomentum")
Ftrl = FtrlOptimizer = _made("Ftrl")


class DGCMomentumOptimizer(Momentum):
    """Momentum. Gradients are exchanged whole, as deep gradient compression does it before
    ``rampup_begin_step``; ``grad_clip`` bounds the norm of each for all ``num_trainers`` together.
    """

    def __init__(
        self,
        learning_rate,
        momentum,
        rampup_begin_step,
        rampup_step=1,
        sparsity=[0.999],  # noqa: B006
        parameter_list=None,
        use_nesterov=False,
        num_trainers=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        if grad_clip is not None:
            of_kind(grad_clip, _ByNorm, "grad_clip must be a GradientClipByNorm, but is a")
            if not isinstance(num_trainers, int) or num_trainers < 1:
                found = f"but is {num_trainers!r}"
                raise AssertionError(
                    f"grad_clip needs num_trainers, a number of at least 1, {found}"
                )
            grad_clip = _ByNorm(grad_clip.clip_norm * num_trainers**-0.5)
        words = (learning_rate, momentum, parameter_list, use_nesterov, regularization)
        super().__init__(*words, grad_clip, name)
        warnings.warn(
            "gradient compression is not implemented: gradients are exchanged uncompressed",
            stacklevel=2,
        )


class DpsgdOptimizer(Optimizer):
    """SGD whose gradients tell little of single samples: each is at most ``clip`` long, and one number
    of the standard deviation ``sigma / batch_size`` is added to all its elements.

    Abadi et al.: Deep learning with differential privacy, 2016.
    """

    _type = "sgd"

    def __init__(
        self, learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-8, parameter_list=None
    ):
        self._make(learning_rate, parameter_list, None, None, None)
        self._clip, self._batch_size, self._sigma = float(clip), float(batch_size), float(sigma)
        self._seed = 0

    def _noisy(self, program, startup_program, params_grads):
        made = []
        with program_guard(program, startup_program):
            for parameter, gradient in params_grads:
                with program._optimized_guard([parameter, gradient]):
                    noise = gaussian([1], 0.0, self._sigma, self._seed, parameter.dtype)
                    short = _flotilla.op("clip_by_norm", {"X": gradient}, {"max_norm": self._clip})
                    made.append((parameter, short + noise / self._batch_size))
        return made

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Append gradients and updates; returns (update ops, [(parameter, gradient)])."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def apply_gradients(self, params_grads):
        """Append the updates for gradients; returns their ops."""
        noisy = self._noisy(default_main_program(), None, params_grads)
        return super().apply_gradients(noisy)

    def apply_optimize(self, loss, startup_program, params_grads):
        """Append the updates for gradients to the program of ``loss``; returns their ops."""
        noisy = self._noisy(loss.block.program, startup_program, params_grads)
        return super().apply_optimize(loss, startup_program, noisy)


Dpsgd = DpsgdOptimizer
