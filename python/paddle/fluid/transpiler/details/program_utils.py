"""Programs as text, and their operators found and removed."""

import sys


__all__ = [
    *("block_to_code", "delete_ops", "find_op_by_input_arg", "find_op_by_output_arg"),
    *("op_to_code", "program_to_code", "variable_to_code"),
]


def delete_ops(block, ops):
    """Remove operators from a block."""
    places = [place for place, op in enumerate(block.ops) if any(op is one for one in ops)]
    for place in reversed(places):
        block._remove_op(place)


def find_op_by_input_arg(block, arg_name):
    """The place of the first operator that reads a variable; -1 where none does."""
    return next((i for i, op in enumerate(block.ops) if arg_name in op.input_arg_names), -1)


def find_op_by_output_arg(block, arg_name, reverse=False):
    """The place of the first operator that writes a variable, or of the last; -1 for none."""
    places = [i for i, op in enumerate(block.ops) if arg_name in op.output_arg_names]
    return (places[-1] if reverse else places[0]) if places else -1


def variable_to_code(var):
    """A variable as a line of text."""
    return str(var)


def op_to_code(op, skip_op_callstack=True):
    """An operator as a line of text."""
    return str(op)


def block_to_code(block, block_idx, fout=None, skip_op_callstack=False):
    """Print a block, to ``fout`` where it is given."""
    print(block, file=fout or sys.stdout)


def program_to_code(prog, fout=None, skip_op_callstack=True):
    """Print a program, to ``fout`` where it is given."""
    print(prog, file=fout or sys.stdout)
