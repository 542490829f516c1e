"""Learning rates that ops of the program compute; each run of the program is a step.

>>> fluid.optimizer.SGD(fluid.layers.exponential_decay(0.1, 1000, 0.5)).minimize(loss)
"""

import _flotilla as core
from paddle._names import names_of
from paddle.tensor.manipulation import cast

from .nn import autoincreased_step_counter

__all__ = [
    *("cosine_decay", "exponential_decay", "inverse_time_decay", "linear_lr_warmup"),
    *("natural_exp_decay", "noam_decay", "piecewise_decay", "polynomial_decay"),
]


def _decay_step_counter(begin=0):
    """What schedules count, as a float: programs with schedules of their own use it too."""
    return cast(autoincreased_step_counter("@LR_DECAY_COUNTER@", begin), "float32")


def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """learning_rate * d_model^-0.5 * min(t^-0.5, t * warmup_steps^-1.5), t counted from 1."""
    return core.noam_decay(d_model, warmup_steps, learning_rate)


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate * decay_rate^(t / decay_steps); ``staircase`` cuts the quotient."""
    return core.exponential_decay(learning_rate, decay_steps, decay_rate, staircase)


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate * exp(-decay_rate * t / decay_steps); ``staircase`` cuts the quotient."""
    return core.natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase)


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """learning_rate / (1 + decay_rate * t / decay_steps); ``staircase`` cuts the quotient."""
    return core.inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase)


def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """From learning_rate to end_learning_rate by (1 - t / decay_steps)^power."""
    return core.polynomial_decay(learning_rate, decay_steps, end_learning_rate, power, cycle)


def piecewise_decay(boundaries, values):
    """values[i] until the step boundaries[i]."""
    return core.piecewise_decay(list(boundaries), list(values))


def cosine_decay(learning_rate, step_each_epoch, epochs):
    """learning_rate / 2 * (cos(epoch * pi / epochs) + 1)."""
    return core.cosine_decay(learning_rate, step_each_epoch, epochs)


def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From start_lr to end_lr in ``warmup_steps``, then ``learning_rate``, also a schedule."""
    return core.linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr)


__getattr__, __dir__ = names_of(__name__)
