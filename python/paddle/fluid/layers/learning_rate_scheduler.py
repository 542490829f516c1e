"""Learning rates that ops of the program compute; each run of the program is a step.

>>> fluid.optimizer.SGD(fluid.layers.exponential_decay(0.1, 1000, 0.5)).minimize(loss)
"""

from paddle._rows import rows
from paddle.tensor.manipulation import cast

from .nn import autoincreased_step_counter

__all__ = rows(globals())


def _decay_step_counter(begin=0):
    """What schedules count, as a float: programs with schedules of their own use it too."""
    return cast(autoincreased_step_counter("@LR_DECAY_COUNTER@", begin), "float32")
