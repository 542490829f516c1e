"""Tensors from numbers and from each other, in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._rows import rows
from paddle.base.dtype import dtype as DType
from paddle.tensor.creation import assign, fill
from paddle.tensor.creation import eye as _eye
from paddle.tensor.manipulation import expand

__all__ = [*rows(globals()), "create_tensor", "diag", "eye", "ones", "zeros"]


def create_tensor(dtype, name=None, persistable=False):
    """A variable without a shape, for an op to write."""
    block = core.main_program().current_block()
    name = name or core.unique_name("create_tensor")
    return block.create_var(name=name, dtype=DType(dtype), persistable=persistable)


def ones(shape, dtype, force_cpu=False):
    """A tensor of ones."""
    return fill(shape, 1, dtype, force_cpu=force_cpu)


def zeros(shape, dtype, force_cpu=False, name=None):
    """A tensor of zeros."""
    return fill(shape, 0, dtype, name, force_cpu)


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """A matrix with ones on its diagonal, repeated for the extents ``batch_shape``."""
    made = _eye(num_rows, num_columns, dtype)
    return made if batch_shape is None else expand(made, [*batch_shape, *made.shape])


def diag(diagonal):
    """A matrix with ``diagonal`` on its diagonal."""
    diagonal = diagonal if hasattr(diagonal, "block") else assign(diagonal)
    return core.op("diag", {"Diagonal": diagonal}, stop_gradient=True)


__getattr__, __dir__ = names_of(__name__)
