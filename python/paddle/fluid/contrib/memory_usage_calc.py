"""How much memory a program takes, before it runs."""

import math

import numpy as np

import _flotilla as core
from paddle._words import of_kind
from paddle.base.executor import default_cpu_generator
from paddle.base.framework import Program, VarKind, is_persistable
from paddle.base.scope import global_scope

__all__ = ["memory_usage"]


def memory_usage(program, batch_size):
    """(least, most, unit) of the memory that a run with batches of this size takes.

    The least is what the plan of the run takes beside all that the program keeps from run to run;
    the most is what that would be if no two values shared their memory.
    """
    of_kind(program, Program, "memory_usage takes a program, but got a")
    if batch_size <= 0:
        raise ValueError(f"batch_size must be positive, but is {batch_size}")
    fed = _fed(program.global_block())
    feeds = {var.name: _zeros(var, int(batch_size)) for var in fed}
    scope = global_scope().new_scope()
    kept = 0
    for var in filter(is_persistable, program.list_vars()):
        found = global_scope().find_var(var.name)
        if found is None or not found.is_initialized():
            scope.var(var.name).get_tensor().set(np.zeros(_extents(var, 1), var.dtype.dtype))
        kept += _bytes(var, 1)
    executor = core.Executor(default_cpu_generator(), core.fleet)
    stats = executor.plan_stats(program, feeds, _results(program.global_block()), scope)
    kept += sum(_bytes(var, int(batch_size)) for var in fed)
    sizes = [kept + stats[word] for word in ("arena_bytes", "no_reuse_bytes")]
    power = min(sum(max(sizes) > 1024**n for n in (1, 2)), 2)
    return (*(float(size) / 1024**power for size in sizes), ("B", "KB", "MB")[power])


def _fed(block):
    """What is fed, and what readers give."""
    read = {name for op in block.ops if op.type == "read" for name in op.output_arg_names}
    return [var for var in block._vars() if var.is_data or var.name in read]


def _results(block):
    """What no operator reads: a plan leaves out what is for nothing."""
    read = {name for op in block.ops for name in op.input_arg_names}
    written = dict.fromkeys(name for op in block.ops for name in op.output_arg_names)
    found = (block._find(name) for name in written if name not in read)
    return [
        var
        for var in found
        if var is not None and not var.persistable and var.type == VarKind.LOD_TENSOR
    ]


def _extents(var, batch_size):
    unknown = sum(extent < 0 for extent in var.shape)
    if unknown > 1:
        raise ValueError(
            f'"{var.name}" has {unknown} extents that are not known, so its size does not follow from '
            f"the batch size; its shape is {list(var.shape)}"
        )
    return [batch_size if extent < 0 else extent for extent in var.shape]


def _bytes(var, batch_size):
    return math.prod(_extents(var, batch_size)) * var.dtype.dtype.itemsize


def _zeros(var, batch_size):
    """What is fed; sequences have one row each."""
    if var.type != VarKind.LOD_TENSOR:
        raise ValueError(f'"{var.name}" is fed and holds no tensor, so its size is not known')
    array = np.zeros(_extents(var, batch_size), var.dtype.dtype)
    if not var.lod_level:
        return array
    tensor = core.LoDTensor()
    tensor.set(array)
    tensor.set_recursive_sequence_lengths([[1] * len(array)] * var.lod_level)
    return tensor
