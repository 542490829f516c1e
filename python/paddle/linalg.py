"""Matrices: their norms, products, powers, inverses and determinants."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import several
from paddle.tensor.linalg import inverse as inv
from paddle.tensor.linalg import norm

__all__ = ["det", "inv", "matrix_power", "multi_dot", "norm", "slogdet"]


def det(x, name=None):
    """The determinants of the matrices in the last two axes."""
    return core.op("determinant", {"Input": x}, name=name)


def slogdet(x, name=None):
    """The signs of the determinants, and behind them the logarithms of their sizes."""
    return core.op("slogdeterminant", {"Input": x}, name=name)


def matrix_power(x, n, name=None):
    """Matrices to the power of ``n``; below zero, their inverses."""
    return core.op("matrix_power", {"X": x}, {"n": n}, name=name)


def multi_dot(x, name=None):
    """The product of several matrices, in the order that costs least.

    >>> paddle.linalg.multi_dot([a, b, c])
    """
    return core.op("multi_dot", {"X": several(x)}, name=name)


__getattr__, __dir__ = names_of(__name__)
