"""Tensors from numbers."""

import numpy as np

import _flotilla as core
from paddle._rows import rows
from paddle._words import also, code, several
from paddle.base.dtype import dtype as DType
from paddle.base.dtype import get_default_dtype
from paddle.base.framework import Variable

from .manipulation import cast

__all__ = [*rows(globals()), "assign", "meshgrid", "to_tensor"]

_VALUES = {
    "bool": ("bool_values", int),
    "int32": ("int32_values", int),
    "int64": ("int64_values", int),
    "float32": ("fp32_values", float),
    "float64": ("fp64_values", float),
}


def _assign_array(array, output):
    if array.dtype.name not in _VALUES:
        raise TypeError(f"assign takes arrays of {', '.join(_VALUES)}, but this is {array.dtype}")
    slot, kind = _VALUES[array.dtype.name]
    values = np.asarray(array, kind).reshape(-1).tolist()
    attrs = {"shape": list(array.shape), "dtype": code(array.dtype), slot: values}
    return core.op("assign_value", None, attrs, out=output, layer="assign", stop_gradient=True)


def variable_of(x):
    """A variable, or one that holds an array."""
    return x if isinstance(x, Variable) else assign(x)


@also(input="x")
def assign(x, output=None):
    """Copy ``x``, a tensor, an array or numbers, to a new tensor or to ``output``.

    >>> paddle.assign(new_mean, running_mean)
    """
    if isinstance(x, Variable):
        return core.op("assign", {"X": x}, out=output)
    array = np.array(x)
    if array.dtype == np.float64 and not isinstance(x, np.ndarray):
        array = array.astype(get_default_dtype())
    return _assign_array(array.reshape(array.shape or (1,)), output)


def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """A tensor with these numbers."""
    if isinstance(data, Variable):
        return assign(data) if dtype is None or data.dtype == dtype else cast(data, dtype)
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        dtype = get_default_dtype()
    made = assign(array if dtype is None else array.astype(DType(dtype).name))
    made.stop_gradient = stop_gradient
    return made


def fill_constant(shape, dtype, value, force_cpu=False, out=None, name=None):
    """A tensor of one value, or ``out`` filled with it."""
    return core.full(shape, value, dtype, name, force_cpu, out)


def meshgrid(*args, name=None):
    """Coordinates of a grid from those of its axes, one tensor for each axis."""
    return core.meshgrid([one for arg in args for one in several(arg)], name)
