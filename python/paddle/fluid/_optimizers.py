"""Optimizers of 1.x that stand around another one."""

import _flotilla as core
from paddle.base.around import AroundOptimizer
from paddle.base.framework import default_main_program, default_startup_program
from paddle.static.makers import create_global_var
from paddle.tensor.creation import assign
from paddle.tensor.logic import equal
from paddle.tensor.manipulation import cast
from paddle.tensor.math import mod


class RecomputeOptimizer(AroundOptimizer):
    """The optimizer inside. What the layers between checkpoints gave is kept, not computed again:
    the results are the same, and plans reuse memory."""

    def __init__(self, optimizer):
        super().__init__(optimizer)
        self._checkpoints = []

    def _set_checkpoints(self, checkpoints):
        """Accepted."""
        self._checkpoints = list(checkpoints)

    def load(self, state_dict):
        """Refused, as in Paddle."""
        raise NotImplementedError("load function is not supported by Recompute Optimizer for now")


class GradientMergeOptimizer:
    """The optimizer inside updates every ``k_steps`` steps, by the mean (``avg``) or the sum of
    their gradients: a large batch in small pieces."""

    def __init__(self, inner_optimizer, k_steps=1, avg=True):
        if not isinstance(k_steps, int) or k_steps < 1:
            raise AssertionError(f"k_steps must be a whole number of 1 or more, but is {k_steps!r}")
        self.inner_optimizer = inner_optimizer
        self.k_steps, self.avg, self.type = k_steps, avg, "gradient_merge"

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """``minimize`` of the optimizer inside, in one step of ``k_steps``."""
        words = (loss, startup_program, parameter_list, no_grad_set)
        made = self.inner_optimizer.minimize(*words)
        if self.k_steps > 1:
            startup = startup_program or default_startup_program()
            core.gradient_merge(loss.block.program, startup, self.k_steps, bool(self.avg))
        return made


class LookaheadOptimizer:
    """Every ``k`` steps the parameters go back, by ``alpha``, towards where they were k steps ago.

    Zhang, Lucas, Hinton, Ba: Lookahead optimizer: k steps forward, 1 step back, 2019.
    """

    _follows_first_step = False  # 2.x looks back to where the first step led

    def __init__(self, inner_optimizer, alpha=0.5, k=5):
        if inner_optimizer is None:
            raise AssertionError("inner optimizer can not be None")
        if not 0 <= alpha <= 1:
            raise AssertionError(f"alpha must lie in [0, 1], but is {alpha}")
        if not isinstance(k, int) or k < 1:
            raise AssertionError(f"k must be a whole number of 1 or more, but is {k!r}")
        self.inner_optimizer = inner_optimizer
        self.alpha, self.k, self.type = alpha, k, "lookahead"

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """``minimize`` of the optimizer inside, and the steps back."""
        words = (loss, startup_program, parameters, no_grad_set)
        made = self.inner_optimizer.minimize(*words)
        main = default_main_program()
        startup = (startup_program or default_startup_program()).global_block()
        step = create_global_var([1], 0, "int64", True, name="lookahead_step")
        with main._optimized_guard([]):
            assign(step + 1, step)
            back = cast(equal(mod(step, self.k), 0), "float32")
            for parameter in main.all_parameters():
                name = f"{parameter.name}@SLOW"
                words = (list(parameter.shape), 0.0, parameter.dtype, True, False, name)
                slow = create_global_var(*words)
                startup.append_op(
                    type="assign",
                    inputs={"X": [startup.var(parameter.name)]},
                    outputs={"Out": [startup.var(name)]},
                )
                if self._follows_first_step:
                    first = cast(equal(step, 1), "float32")
                    assign(slow + first * (parameter - slow), slow)
                assign(slow + back * self.alpha * (parameter - slow), slow)
                assign(back * slow + (1.0 - back) * parameter, parameter)
        return made
