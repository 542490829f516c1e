"""Functions of tensors that are several ops, and what types of numbers can hold."""

import numpy as np

import _flotilla as core
from paddle._rows import rows
from paddle.base.dtype import dtype as DType

__all__ = [*rows(globals()), "atleast_1d", "atleast_2d", "atleast_3d", "finfo", "iinfo"]


def atleast_1d(*inputs, name=None):
    """The tensors with one axis or more."""
    return core.at_least(1, inputs)


def atleast_2d(*inputs, name=None):
    """The tensors with two axes or more; new ones stand in front."""
    return core.at_least(2, inputs)


def atleast_3d(*inputs, name=None):
    """The tensors with three axes or more; [n] becomes [1, n, 1], and [m, n] becomes [m, n, 1]."""
    return core.at_least(3, inputs)


def finfo(dtype):
    """The limits of a type of floating-point numbers."""
    return np.finfo(DType(dtype).name)


def iinfo(dtype):
    """The limits of a type of whole numbers."""
    return np.iinfo(DType(dtype).name)
