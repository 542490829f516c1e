"""Optimizers that stand around another one, in the API of 2.x."""

from paddle.fluid._optimizers import (  # noqa: F401
    GradientMergeOptimizer,
    LookaheadOptimizer,
    RecomputeOptimizer,
)
from paddle.fluid.optimizer import LarsMomentumOptimizer  # noqa: F401
from paddle.static.averages import ModelAverage as _ModelAverage


class LookAhead(LookaheadOptimizer):
    """Every ``k`` steps the parameters go back, by ``alpha``, towards where they were k steps ago.

    Unlike ``LookaheadOptimizer`` of 1.x it starts from where the first step leads.
    """

    _follows_first_step = True

    def __init__(self, inner_optimizer, alpha=0.5, k=5, name=None):
        super().__init__(inner_optimizer, alpha, k)


class ModelAverage(_ModelAverage):
    """``fluid.optimizer.ModelAverage``, of all parameters or of those in a list."""

    def __init__(
        self,
        average_window_rate,
        parameters=None,
        min_average_window=10000,
        max_average_window=10000,
        name=None,
    ):
        window = (average_window_rate, min_average_window, max_average_window)
        self._append(parameters, *window)
