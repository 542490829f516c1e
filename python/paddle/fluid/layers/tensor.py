"""Tensors from numbers and from each other, in the words of 1.x."""

import _flotilla
from paddle._rows import rows
from paddle.base.dtype import dtype as DType
from paddle.tensor.creation import variable_of

__all__ = [*rows(globals()), "create_tensor", "diag"]


def create_tensor(dtype, name=None, persistable=False):
    """A variable without a shape, for an op to write."""
    block = _flotilla.main_program().current_block()
    name = name or _flotilla.unique_name("create_tensor")
    return block.create_var(name=name, dtype=DType(dtype), persistable=persistable)


def diag(diagonal):
    """A matrix with ``diagonal`` on its diagonal."""
    return _flotilla.op("diag", {"Diagonal": variable_of(diagonal)}, stop_gradient=True)
