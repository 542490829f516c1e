"""Optimizers in the words of 1.x."""

from paddle import optimizer as _new
from paddle._names import names_of
from paddle.optimizer import Optimizer  # noqa: F401
from paddle.optimizer.rules import old_class as _old_class
from paddle.static.averages import ExponentialMovingAverage  # noqa: F401

from ._optimizers import (  # noqa: F401
    GradientMergeOptimizer,
    LookaheadOptimizer,
    RecomputeOptimizer,
)


def _made(word):
    return _old_class(word, getattr(_new.rules, word, Optimizer), __name__)


SGD = SGDOptimizer = _made("SGD")
Momentum = MomentumOptimizer = _made("Momentum")
Adam = AdamOptimizer = _made("Adam")
Adagrad = AdagradOptimizer = _made("Adagrad")
Adadelta = AdadeltaOptimizer = _made("Adadelta")
Adamax = AdamaxOptimizer = _made("Adamax")
RMSProp = RMSPropOptimizer = _made("RMSProp")
Lamb = LambOptimizer = _made("Lamb")
LarsMomentum = LarsMomentumOptimizer = _made("LarsMomentum")
Ftrl = FtrlOptimizer = _made("Ftrl")

__getattr__, __dir__ = names_of(__name__)
