"""Tensors from numbers."""

import math

import numpy as np

import _flotilla as core
from paddle._rows import rows
from paddle._words import also, code, several, shape_inputs
from paddle.base.dtype import dtype as DType
from paddle.base.dtype import get_default_dtype
from paddle.base.framework import Variable

__all__ = [
    *rows(globals()),
    *("arange", "assign", "clone", "empty", "full", "linspace", "logspace", "meshgrid", "ones"),
    *("to_tensor", "zeros"),
]


def fill(shape, value, dtype, name=None, force_cpu=False, out=None, layer=None):
    """Append fill_constant: the shape, the value and the variable to write may be variables."""
    inputs, extents = shape_inputs(shape, "ShapeTensor", "ShapeTensorList")
    attrs = {"shape": extents, "dtype": code(dtype), "force_cpu": force_cpu}
    if isinstance(value, Variable):
        inputs["ValueTensor"] = value
    else:
        number = int(value) if "int" in DType(attrs["dtype"]).name else float(value)
        attrs.update(value=float(value), str_value=str(number))
    return core.op(
        "fill_constant", inputs, attrs, name=name, out=out, layer=layer, stop_gradient=True
    )


def fill_constant(shape, dtype, value, force_cpu=False, out=None, name=None):
    """A tensor of one value, or ``out`` filled with it."""
    return fill(shape, value, dtype, name, force_cpu, out)


def full(shape, fill_value, dtype=None, name=None):
    """A tensor of one value. The shape may hold variables.

    >>> paddle.full([paddle.shape(x)[0], 1], 0.5)
    """
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    return fill(shape, fill_value, dtype, name)


def zeros(shape, dtype=None, name=None):
    """A tensor of zeros."""
    return fill(shape, 0, dtype, name)


def ones(shape, dtype=None, name=None):
    """A tensor of ones."""
    return fill(shape, 1, dtype, name)


def empty(shape, dtype=None, name=None):
    """A tensor whose values do not matter: zeros."""
    return fill(shape, 0, dtype, name)


def _number(value, dtype):
    """A tensor of one element; variables become that type."""
    if not isinstance(value, Variable):
        return fill([1], value, dtype, force_cpu=True)
    return value if value.dtype == dtype else core.op("cast", {"X": value}, _cast(value, dtype))


def _cast(x, dtype):
    return {"in_dtype": code(x.dtype), "out_dtype": code(dtype)}


def arange(start=0, end=None, step=1, dtype=None, name=None):
    """Numbers from ``start`` to before ``end``.

    >>> paddle.arange(1, 6, 2)  # 1, 3, 5
    """
    if end is None:
        start, end = 0, start
    if dtype is None:
        fractions = [v for v in (start, end, step) if _is_fraction(v)]
        dtype = get_default_dtype() if fractions else "int64"
    inputs = {"Start": start, "End": end, "Step": step}
    known = not any(isinstance(value, Variable) for value in inputs.values())
    inputs = {slot: _number(value, dtype) for slot, value in inputs.items()}
    made = core.op("range", inputs, name=name, stop_gradient=True)
    if known:
        made._describe(shape=[max(0, math.ceil((end - start) / step))])
    return made


def _is_fraction(value):
    return "float" in value.dtype_name if isinstance(value, Variable) else isinstance(value, float)


def linspace(start, stop, num, dtype=None, name=None):
    """``num`` numbers from ``start`` to ``stop``, both included, at equal distances."""
    return _spaced("linspace", start, stop, num, dtype, name)


def logspace(start, stop, num, base=10.0, dtype=None, name=None):
    """``base`` to the power of ``num`` numbers from ``start`` to ``stop`` at equal distances."""
    kind = "float32" if dtype is None else dtype
    return _spaced("logspace", start, stop, num, dtype, name, Base=_number(base, kind))


def _spaced(type, start, stop, num, dtype, name, **more):
    dtype = "float32" if dtype is None else dtype
    inputs = {"Start": _number(start, dtype), "Stop": _number(stop, dtype)}
    inputs.update(Num=_number(num, "int32"), **more)
    made = core.op(type, inputs, {"dtype": code(dtype)}, name=name, stop_gradient=True)
    if isinstance(num, int):
        made._describe(shape=[num])
    return made


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
        same = dtype is None or data.dtype == dtype
        return assign(data) if same else core.op("cast", {"X": data}, _cast(data, dtype))
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        dtype = get_default_dtype()
    made = assign(array if dtype is None else array.astype(DType(dtype).name))
    made.stop_gradient = stop_gradient
    return made


def clone(x, name=None):
    """A copy of ``x``; gradients go through it."""
    return core.op("assign", {"X": x}, out=core.unique_name(x.name + "_clone"))


def meshgrid(*args, name=None):
    """Coordinates of a grid from those of its axes, one tensor for each axis."""
    axes = [one for arg in args for one in several(arg)]
    return core.op("meshgrid", {"X": axes}, outs=[("Out", len(axes))], name=name)
