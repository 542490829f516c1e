"""Averages of parameters, for tests and for what is saved."""

import contextlib

import numpy as np

import _flotilla as core
from paddle._words import of_kind
from paddle.base.executor import Executor
from paddle.base.framework import Variable
from paddle.base.place import CPUPlace
from paddle.base.scope import global_scope

__all__ = ["ExponentialMovingAverage"]


class _Averages:
    """Values that parameters can take for a while."""

    def __init__(self, made):
        self._made, self._applied = made, False

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """Inside the ``with`` the parameters are their averages."""
        self._run(self._made.apply, executor)
        self._applied = True
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor=None):
        """The parameters are themselves again."""
        if self._applied:
            self._run(self._made.restore, executor)
            self._applied = False

    def _run(self, program, executor):
        (executor or Executor(CPUPlace())).run(program)


class ExponentialMovingAverage(_Averages):
    """Averages that follow the parameters: a = decay * a + (1 - decay) * p after each step.

    ``thres_steps``: a variable that counts steps; then the decay is at most (t + 1) / (t + 10).

    >>> ema = static.ExponentialMovingAverage(0.999)
    >>> ema.update()  # behind optimizer.minimize
    >>> with ema.apply(executor):
    ...     test(executor)
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        said = "thres_steps must be a variable or None, but is of type"
        of_kind(thres_steps, (Variable, type(None)), said)
        super().__init__(core.ExponentialMovingAverage(decay, thres_steps, name))

    def update(self):
        """Append the ops that move the averages."""
        self._made.update()


class ModelAverage(_Averages):
    """The mean of each parameter over the last steps, counted from when this is made on.

    The window holds ``average_window_rate`` of all steps, but from ``min_average_window`` to
    ``max_average_window`` of them; when it is full, what came before it is dropped.

    >>> optimizer.minimize(loss)
    >>> average = fluid.optimizer.ModelAverage(0.15)
    >>> with average.apply(executor):
    ...     test(executor)
    """

    def __init__(
        self,
        average_window_rate,
        min_average_window=10000,
        max_average_window=10000,
        regularization=None,
        name=None,
    ):
        self._append(None, average_window_rate, min_average_window, max_average_window)

    def _append(self, parameters, rate, least, most):
        super().__init__(core.ModelAverage(parameters, rate, least, most))

    def _run(self, program, executor):
        if not any(_count(name) for name in self._made.counters):
            raise ValueError(
                "ModelAverage has not seen a training step yet: run the training program first"
            )
        super()._run(program, executor)


def _count(name):
    found = global_scope().find_var(name)
    if found is None or not found.is_initialized():
        raise ValueError(f'variable "{name}" has no value; run the startup program first')
    return np.array(found.get_tensor())[0]
