"""Optimizers in the API of 1.x."""

import warnings

from paddle import optimizer as _new
from paddle._rows import rows
from paddle._words import of_kind
from paddle.base.clip import ClipGradByNorm as _ByNorm
from paddle.optimizer import Optimizer  # noqa: F401
from paddle.optimizer.rules import old_class as _old_class

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
