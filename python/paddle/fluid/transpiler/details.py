"""Programs as text."""

import sys

from paddle._names import names_of

__all__ = ["program_to_code"]


def program_to_code(prog, fout=None, skip_op_callstack=True):
    """Print a program, to ``fout`` where it is given."""
    print(prog, file=fout or sys.stdout)


__getattr__, __dir__ = names_of(__name__)
