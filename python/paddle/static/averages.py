"""Averages of parameters, for tests and for what is saved."""

import contextlib

import numpy as np

import _flotilla as core
from paddle.base.framework import Variable, default_main_program
from paddle.base.scope import global_scope
from paddle.tensor.creation import assign
from paddle.tensor.manipulation import cast
from paddle.tensor.math import minimum

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Averages that follow the parameters: a = decay * a + (1 - decay) * p after each step.

    ``thres_steps``: a variable that counts steps; then the decay is at most (t + 1) / (t + 10).

    >>> ema = static.ExponentialMovingAverage(0.999)
    >>> ema.update()  # behind optimizer.minimize
    >>> with ema.apply(executor):
    ...     test(executor)
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        if thres_steps is not None and not isinstance(thres_steps, Variable):
            kind = type(thres_steps).__name__
            raise TypeError(f"thres_steps must be a variable or None, but is of type {kind}")
        self._decay, self._steps, self._name = float(decay), thres_steps, name or ""
        self._averages, self._kept = {}, {}
        program = default_main_program()
        self._parameters = [p for p in program.all_parameters() if p.do_model_average]
        for parameter in self._parameters:
            name = core.unique_name(f"{self._name}{parameter.name}_ema")
            words = (list(parameter.shape), 0.0, parameter.dtype, True, name)
            self._averages[parameter.name] = core.create_global_var(*words)
        # What is missing from one: the product of all decays so far.
        missing = core.unique_name(f"{self._name}ema_missing")
        self._missing = core.create_global_var([1], 1.0, "float32", True, missing)

    def update(self):
        """Append the ops that move the averages."""
        with default_main_program()._optimized_guard([]):
            decay = self._decay
            if self._steps is not None:
                steps = cast(self._steps, "float32")
                decay = minimum((steps + 1.0) / (steps + 10.0), decay)
            assign(self._missing * decay, self._missing)
            for parameter in self._parameters:
                average = self._averages[parameter.name]
                assign(average * decay + parameter * (1.0 - decay), average)

    @contextlib.contextmanager
    def apply(self, executor, need_restore=True):
        """Inside the ``with`` the parameters are their averages."""
        missing = _value(self._missing.name)[0]
        for parameter in self._parameters:
            self._kept[parameter.name] = _value(parameter.name)
            average = _value(self._averages[parameter.name].name)
            _set(parameter.name, average / (1 - missing) if missing < 1 else average)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor):
        """The parameters are themselves again."""
        for name, value in self._kept.items():
            _set(name, value)
        self._kept = {}


def _value(name):
    found = global_scope().find_var(name)
    if found is None or not found.is_initialized():
        raise ValueError(f'variable "{name}" has no value; run the startup program first')
    return np.array(found.get_tensor())


def _set(name, value):
    global_scope().find_var(name).get_tensor().set(value.astype(_value(name).dtype))
