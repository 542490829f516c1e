"""Averages of parameters, for tests and for what is saved."""

import contextlib

import numpy as np

import _flotilla as core
from paddle.base.framework import Variable, default_main_program
from paddle.base.scope import global_scope
from paddle.tensor.creation import assign
from paddle.tensor.logic import equal, logical_and
from paddle.tensor.manipulation import cast
from paddle.tensor.math import minimum, mod
from paddle.tensor.ops import floor

__all__ = ["ExponentialMovingAverage"]


class _Averages:
    """Values that parameters can take for a while."""

    def __init__(self, parameters):
        self._parameters, self._kept = parameters, {}

    def _value_of(self, parameter):
        raise NotImplementedError

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """Inside the ``with`` the parameters are their averages."""
        averages = {one.name: self._value_of(one) for one in self._parameters}
        for name, average in averages.items():
            self._kept[name] = _value(name)
            _set(name, average)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor=None):
        """The parameters are themselves again."""
        for name, value in self._kept.items():
            _set(name, value)
        self._kept = {}


def _averaged(parameters=None):
    """The parameters, of the program or of a list, that want an average."""
    found = default_main_program().all_parameters() if parameters is None else parameters
    return [parameter for parameter in found if parameter.do_model_average]


def _state(name, shape, value, dtype):
    return core.create_global_var(list(shape), value, dtype, True, core.unique_name(name))


class ExponentialMovingAverage(_Averages):
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
        super().__init__(_averaged())
        self._decay, self._steps, name = float(decay), thres_steps, name or ""
        self._averages = {
            one.name: _state(f"{name}{one.name}_ema", one.shape, 0.0, one.dtype)
            for one in self._parameters
        }
        # What is missing from one: the product of all decays so far.
        self._missing = _state(f"{name}ema_missing", [1], 1.0, "float32")

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

    def _value_of(self, parameter):
        missing = _value(self._missing.name)[0]
        average = _value(self._averages[parameter.name].name)
        return average / (1 - missing) if missing < 1 else average


class ModelAverage(_Averages):
    """The mean of each parameter over the last steps, counted from when this is made on.

    The window holds ``average_window_rate`` of all steps, but from ``min_average_window`` to
    ``max_average_window`` of them; when it is full, what came before it is dropped.

    >>> optimizer.minimize(loss)
    >>> average = fluid.optimizer.ModelAverage(0.15)
    >>> with average.apply(executor):
    ...     test(executor)
    """

    # Long sums lose digits: so many steps are added up by themselves.
    _LONGEST_SUM = 16384

    def __init__(
        self,
        average_window_rate,
        min_average_window=10000,
        max_average_window=10000,
        regularization=None,
        name=None,
    ):
        self._append(_averaged(), average_window_rate, min_average_window, max_average_window)

    def _append(self, parameters, rate, least, most):
        super().__init__(parameters)
        count = (_state(f"average_{word}", [1], 0, "int64") for word in ("steps", "now", "before"))
        self._steps, self._now, self._before = count
        self._sums = {}
        with default_main_program()._optimized_guard([]):
            assign(self._steps + 1, self._steps)
            assign(self._now + 1, self._now)
            window = minimum(floor(cast(self._steps, "float32") * rate), float(most))
            now = cast(self._now, "float32")
            full = cast(logical_and(now >= float(least), now >= window), "float32")
            long = cast(equal(mod(self._steps, self._LONGEST_SUM), 0), "float32")
            for parameter in self._parameters:
                self._append_sums(parameter, full, long)
            flag = cast(full, "int64")
            assign(flag * self._now + (1 - flag) * self._before, self._before)
            assign((1 - flag) * self._now, self._now)

    def _append_sums(self, parameter, full, long):
        """recent + parameter; at times recent goes to `older`, and both to `before`."""
        words = [f"{parameter.name}_sum_{i}" for i in (1, 2, 3)]
        recent, older, before = self._sums[parameter.name] = [
            _state(word, parameter.shape, 0.0, parameter.dtype) for word in words
        ]
        assign(recent + parameter, recent)
        assign(older + recent * long, older)
        assign(recent * (1.0 - long), recent)
        assign((recent + older) * full + before * (1.0 - full), before)
        assign(recent * (1.0 - full), recent)
        assign(older * (1.0 - full), older)

    def _value_of(self, parameter):
        steps = _value(self._now.name)[0] + _value(self._before.name)[0]
        if steps == 0:
            raise ValueError("ModelAverage has seen no step yet: run the training program first")
        return sum(_value(one.name) for one in self._sums[parameter.name]) / steps


def _value(name):
    found = global_scope().find_var(name)
    if found is None or not found.is_initialized():
        raise ValueError(f'variable "{name}" has no value; run the startup program first')
    return np.array(found.get_tensor())


def _set(name, value):
    global_scope().find_var(name).get_tensor().set(value.astype(_value(name).dtype))
