"""Gradients of programs."""

from paddle._rows import rows

from .framework import Parameter, program_guard

__all__ = [*rows(globals()), "gradients_with_optimizer"]


def gradients_with_optimizer(program, optimizer, inputs=None, outputs=None):
    """Append the gradients of a program's results with respect to what it reads, and the updates of its
    parameters; returns (update ops, [(parameter, gradient)])."""
    block = program.global_block()
    read = dict.fromkeys(name for op in block.ops for name in op.input_arg_names)
    written = dict.fromkeys(name for op in block.ops for name in op.output_arg_names)
    if inputs is None:
        inputs = [block.var(name) for name in read if name not in written and block.has_var(name)]
    if outputs is None:
        outputs = [block.var(name) for name in written if name not in read]
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    with program_guard(program):
        found = zip(inputs, gradients(outputs, inputs))  # noqa: F821 - of the table
        pairs = [(one, its) for one, its in found if isinstance(one, Parameter) and its is not None]
        return optimizer.apply_gradients(pairs), pairs
