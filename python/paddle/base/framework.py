"""Programs, blocks and variables as Python sees them, and the guards around them.

The classes are the C++ core's; this file adds the words of Paddle's Python API to them.
"""

import contextlib

import _flotilla as core

Program = core.Program
Block = core.Block
Variable = core.Variable
Operator = core.Operator


class Parameter:
    """``isinstance(v, Parameter)`` tells parameters from other variables."""

    class _Meta(type):
        def __instancecheck__(cls, value):
            return isinstance(value, Variable) and value.is_parameter


Parameter = Parameter._Meta("Parameter", (), {"__doc__": Parameter.__doc__})


def default_main_program():
    """The program that layers append to."""
    return core.main_program()


def default_startup_program():
    """The program that gives parameters their first values."""
    return core.startup_program()


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Let layers append to these programs inside the ``with`` block."""
    _check_program("main_program", main_program)
    if startup_program is not None:
        _check_program("startup_program", startup_program)
    before = core.main_program(), core.startup_program()
    core.switch_programs(main_program, startup_program or before[1])
    try:
        yield
    finally:
        core.switch_programs(*before)


def _check_program(what, program):
    if not isinstance(program, Program):
        raise TypeError(
            f"{what} must be a paddle.static.Program, but is {type(program).__name__}"
        )


def _create_var(self, name=None, **kwargs):
    """Add a variable to the block; an existing name gives a handle to the same variable."""
    return self._create_var(name or core.unique_name("_generated_var"), **kwargs)


def _append_op(self, type, inputs=None, outputs=None, attrs=None, **_):
    """Append an operator: variables or names by slot, attributes by name."""
    return self._append_op(type, inputs, outputs, attrs or {})


def _prepend_op(self, type, inputs=None, outputs=None, attrs=None, **_):
    return self._insert_op(0, type, inputs, outputs, attrs or {})


def _insert_op_public(self, index, type, inputs=None, outputs=None, attrs=None, **_):
    return self._insert_op(index, type, inputs, outputs, attrs or {})


class _Desc:
    """What ``program.desc`` offers: serialization."""

    def __init__(self, program):
        self._program = program

    def serialize_to_string(self):
        """The program in the wire format of framework.proto."""
        return self._program._serialize()


Block.create_var = _create_var
Block.append_op = _append_op
Block._prepend_op = _prepend_op
Block.vars = property(lambda self: {v.name: v for v in self._vars()})
Block.__str__ = lambda self: str(self.program)
Program.desc = property(_Desc)
Program.list_vars = lambda self: (
    v for i in range(self.num_blocks) for v in self.block(i)._vars()
)
Program.blocks = property(lambda self: [self.block(i) for i in range(self.num_blocks)])
Program.__deepcopy__ = lambda self, memo: self.clone()
