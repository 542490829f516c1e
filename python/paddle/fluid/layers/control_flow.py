"""Comparisons, counters and blocks in the words of 1.x."""

import _flotilla
from paddle._rows import rows

__all__ = [*rows(globals()), "Switch", "While"]


class While:
    """A loop: what is appended inside ``block()`` runs as long as ``cond`` is true.

    >>> loop = fluid.layers.While(cond=fluid.layers.less_than(i, n))
    >>> with loop.block():
    ...     fluid.layers.increment(i)
    ...     fluid.layers.less_than(i, n, cond=cond)
    """

    def __init__(self, cond, is_test=False, name=None):
        self._block = _flotilla.while_block(cond, is_test)

    def block(self):
        """The body, for a ``with``; it must change the condition."""
        return self._block


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
