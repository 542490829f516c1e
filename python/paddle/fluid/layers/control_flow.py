"""Comparisons and counters in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of

__all__ = [
    *("equal", "greater_equal", "greater_than", "increment", "less_equal", "less_than"),
    "not_equal",
]


def increment(x, value=1.0, in_place=True):
    """Add ``value`` to ``x``, a tensor of one element, in place or to a new one."""
    return core.op("increment", {"X": x}, {"step": float(value)}, out=x if in_place else None)


def _compare(type, x, y, cond):
    return core.op(type, {"X": x, "Y": y}, out=cond, stop_gradient=True)


def equal(x, y, cond=None):
    """Whether x == y, element by element, written to ``cond`` if given."""
    return _compare("equal", x, y, cond)


def not_equal(x, y, cond=None):
    """Whether x != y, element by element, written to ``cond`` if given."""
    return _compare("not_equal", x, y, cond)


def less_than(x, y, force_cpu=None, cond=None):
    """Whether x < y, element by element, written to ``cond`` if given."""
    return _compare("less_than", x, y, cond)


def less_equal(x, y, cond=None):
    """Whether x <= y, element by element, written to ``cond`` if given."""
    return _compare("less_equal", x, y, cond)


def greater_than(x, y, cond=None):
    """Whether x > y, element by element, written to ``cond`` if given."""
    return _compare("greater_than", x, y, cond)


def greater_equal(x, y, cond=None):
    """Whether x >= y, element by element, written to ``cond`` if given."""
    return _compare("greater_equal", x, y, cond)


__getattr__, __dir__ = names_of(__name__)
