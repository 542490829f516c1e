"""Comparisons, counters and blocks in the words of 1.x."""

import _flotilla
from paddle._rows import rows

__all__ = [*rows(globals()), "Switch"]


class Switch(_flotilla.Switch):
    """Branches of which the first true one runs.

    >>> with fluid.layers.Switch() as switch:
    ...     with switch.case(step < warmup):
    ...         fluid.layers.assign(small, rate)
    ...     with switch.default():
    ...         fluid.layers.assign(large, rate)
    """

    def __init__(self, name=None):
        super().__init__()
