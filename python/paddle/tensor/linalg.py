"""Products of matrices and vectors, and norms."""

import _flotilla as core
from paddle._rows import rows

__all__ = [*rows(globals()), "einsum"]


def einsum(equation, *operands):
    """The sum over all labels that the result lacks: ``ij,jk->ik`` is a product of matrices.

    "..." stands for axes without a label. Without an arrow the result has the labels that occur
    once, in the order of the alphabet.
    """
    return core.einsum(equation, operands)
