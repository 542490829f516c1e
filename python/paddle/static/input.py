"""Inputs of programs in the API of 2.x."""

from paddle.base import input as _base
from paddle.base.input import InputSpec  # noqa: F401


def data(name, shape, dtype=None, lod_level=0):
    """Declare what a run is fed: the whole shape, with None where any extent will do.

    What is fed must have the declared rank, fixed extents and dtype.
    """
    return _base.data(name, shape, dtype, lod_level)
