"""Comparisons, logic and bits."""

import _flotilla as core
from paddle._words import compared
from paddle.base.framework import Variable

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "equal_all",
    "greater_equal",
    "greater_than",
    "is_tensor",
    "less_equal",
    "less_than",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
]

equal = compared("equal", "Whether x == y, element by element.")
not_equal = compared("not_equal", "Whether x != y, element by element.")
less_than = compared("less_than", "Whether x < y, element by element.")
less_equal = compared("less_equal", "Whether x <= y, element by element.")
greater_than = compared("greater_than", "Whether x > y, element by element.")
greater_equal = compared("greater_equal", "Whether x >= y, element by element.")


def logical_and(x, y, out=None, name=None):
    """Whether both are true, element by element."""
    return core.op("logical_and", {"X": x, "Y": y}, out=out, name=name)


def logical_or(x, y, out=None, name=None):
    """Whether one is true, element by element."""
    return core.op("logical_or", {"X": x, "Y": y}, out=out, name=name)


def logical_xor(x, y, out=None, name=None):
    """Whether one of both is true, element by element."""
    return core.op("logical_xor", {"X": x, "Y": y}, out=out, name=name)


def logical_not(x, out=None, name=None):
    """Whether it is false, element by element."""
    return core.op("logical_not", {"X": x}, out=out, name=name)


def bitwise_and(x, y, out=None, name=None):
    """The bits that both have."""
    return core.op("bitwise_and", {"X": x, "Y": y}, out=out, name=name)


def bitwise_or(x, y, out=None, name=None):
    """The bits that one of both has."""
    return core.op("bitwise_or", {"X": x, "Y": y}, out=out, name=name)


def bitwise_xor(x, y, out=None, name=None):
    """The bits in which both differ."""
    return core.op("bitwise_xor", {"X": x, "Y": y}, out=out, name=name)


def bitwise_not(x, out=None, name=None):
    """The bits it does not have."""
    return core.op("bitwise_not", {"X": x}, out=out, name=name)


def equal_all(x, y, name=None):
    """Whether all elements are equal."""
    return core.op("equal_all", {"X": x, "Y": y}, name=name, stop_gradient=True)


def is_tensor(x):
    """Whether ``x`` is a variable of a program."""
    return isinstance(x, Variable)
