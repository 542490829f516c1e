"""Products of matrices and vectors, and norms."""

import _flotilla as core

from .manipulation import reshape

__all__ = [
    "addmm",
    "bmm",
    "dot",
    "matmul",
    "mm",
    "mv",
    "outer",
]


def matmul(x, y, transpose_x=False, transpose_y=False, name=None):
    """Multiply the matrices in the last two axes; the axes before are broadcast.

    >>> paddle.matmul(x, y, transpose_y=True)
    """
    attrs = {"trans_x": transpose_x, "trans_y": transpose_y}
    return core.op("matmul_v2", {"X": x, "Y": y}, attrs, name=name)


def mm(input, mat2, name=None):
    """The product of two matrices."""
    return core.op("matmul_v2", {"X": input, "Y": mat2}, name=name, layer="mm")


def bmm(x, y, name=None):
    """The products of pairs of matrices, one for each element of the first axis."""
    return core.op("bmm", {"X": x, "Y": y}, name=name)


def dot(x, y, name=None):
    """The inner products of vectors, in the last axis."""
    return core.reduce("reduce_sum", core.op("elementwise_mul", {"X": x, "Y": y}), -1)


def mv(x, vec, name=None):
    """The product of a matrix and a vector."""
    return core.op("matmul_v2", {"X": x, "Y": vec}, name=name, layer="mv")


def outer(x, y, name=None):
    """The products of each element of ``x`` with each of ``y``."""
    left, right = reshape(x, [-1, 1]), reshape(y, [1, -1])
    return core.op("matmul_v2", {"X": left, "Y": right}, name=name, layer="outer")


def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):
    """beta * input + alpha * (x @ y)."""
    return beta * input + alpha * matmul(x, y)
