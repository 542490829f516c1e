"""Tensors from numbers and from each other, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import also, code, several
from paddle.base.dtype import dtype as DType
from paddle.static.makers import create_global_var, create_parameter  # noqa: F401
from paddle.tensor.creation import arange as _arange
from paddle.tensor.creation import assign, fill, fill_constant  # noqa: F401
from paddle.tensor.creation import eye as _eye
from paddle.tensor.creation import linspace as _linspace
from paddle.tensor.manipulation import cast, concat, expand  # noqa: F401

__all__ = [
    *("argmax", "argmin", "argsort", "assign", "cast", "concat", "create_global_var"),
    *("create_parameter", "create_tensor", "eye", "fill_constant", "has_inf", "has_nan"),
    *("fill_constant_batch_size_like", "isfinite", "linspace", "ones", "ones_like", "range"),
    *("diag", "is_empty", "reverse", "sums", "zeros", "zeros_like"),
]


def create_tensor(dtype, name=None, persistable=False):
    """A variable without a shape, for an op to write."""
    block = core.main_program().current_block()
    name = name or core.unique_name("create_tensor")
    return block.create_var(name=name, dtype=DType(dtype), persistable=persistable)


def fill_constant_batch_size_like(
    input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False
):
    """A tensor of one value with one extent taken from ``input``."""
    attrs = {"shape": list(shape), "dtype": code(dtype), "value": float(value)}
    attrs.update(input_dim_idx=input_dim_idx, output_dim_idx=output_dim_idx, force_cpu=force_cpu)
    type = "fill_constant_batch_size_like"
    return core.op(type, {"Input": input}, attrs, stop_gradient=True)


def ones(shape, dtype, force_cpu=False):
    """A tensor of ones."""
    return fill(shape, 1, dtype, force_cpu=force_cpu)


def zeros(shape, dtype, force_cpu=False, name=None):
    """A tensor of zeros."""
    return fill(shape, 0, dtype, name, force_cpu)


def _like(x, value, layer, out):
    attrs = {"value": float(value), "dtype": code(x.dtype)}
    return core.op("fill_any_like", {"X": x}, attrs, out=out, layer=layer, stop_gradient=True)


def ones_like(x, out=None):
    """Ones of the shape of ``x``."""
    return _like(x, 1, "ones_like", out)


def zeros_like(x, out=None):
    """Zeros of the shape of ``x``."""
    return _like(x, 0, "zeros_like", out)


def range(start, end, step, dtype):
    """Numbers from ``start`` to before ``end``."""
    return _arange(start, end, step, dtype)


def linspace(start, stop, num, dtype):
    """``num`` numbers from ``start`` to ``stop``, both included, at equal distances."""
    return _linspace(start, stop, num, dtype)


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """A matrix with ones on its diagonal, repeated for the extents ``batch_shape``."""
    made = _eye(num_rows, num_columns, dtype)
    return made if batch_shape is None else expand(made, [*batch_shape, *made.shape])


def sums(input, out=None):
    """The sum of several tensors."""
    return core.op("sum", {"X": several(input)}, out=out)


@also(input="x")
def argmax(x, axis=0):
    """The place of the largest element along ``axis``."""
    return core.op("arg_max", {"X": x}, {"axis": axis}, stop_gradient=True)


@also(input="x")
def argmin(x, axis=0):
    """The place of the smallest element along ``axis``."""
    return core.op("arg_min", {"X": x}, {"axis": axis}, stop_gradient=True)


def argsort(input, axis=-1, descending=False, name=None):
    """The elements in ascending order along ``axis``, and their places; without gradients."""
    attrs = {"axis": axis, "descending": descending}
    outs = ["Out", "Indices"]
    return tuple(core.op("argsort", {"X": input}, attrs, name=name, outs=outs, stop_gradient=True))


def reverse(x, axis):
    """Turn the order of elements round along these axes."""
    return core.op("reverse", {"X": x}, {"axis": several(axis)})


def isfinite(x):
    """Whether all elements are neither infinite nor NaN, as one truth value."""
    return core.op("isfinite", {"X": x})


def has_inf(x):
    """Whether an element is infinite, as one truth value."""
    return core.op("isinf", {"X": x})


def has_nan(x):
    """Whether an element is no number, as one truth value."""
    return core.op("isnan", {"X": x})


def diag(diagonal):
    """A matrix with ``diagonal`` on its diagonal."""
    diagonal = diagonal if hasattr(diagonal, "block") else assign(diagonal)
    return core.op("diag", {"Diagonal": diagonal}, stop_gradient=True)


def is_empty(x, cond=None):
    """Whether there are no elements, written to ``cond`` if given."""
    return core.op("is_empty", {"X": x}, out=cond, stop_gradient=True)


__getattr__, __dir__ = names_of(__name__)
