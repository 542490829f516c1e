"""What ``desc`` of programs, blocks, operators and variables offers: the words of what Paddle keeps
in C++, as functions where Python's objects have attributes."""

import _flotilla as core
from paddle._names import did_you_mean

from .dtype import VarDesc
from .dtype import dtype as DType
from .framework import Block, Operator, Program, Variable


def _text(name):
    return name.decode() if isinstance(name, bytes) else name


class _Desc:
    """Describes one of Python's objects, and changes it."""

    _kind = ""

    def __init__(self, of):
        self._of = of

    def __eq__(self, other):
        return type(other) is type(self) and other._of is self._of

    def __hash__(self):
        return id(self._of)

    def __str__(self):
        return str(self._of)

    def __getattr__(self, name):
        known = [one for one in dir(type(self)) if not one.startswith("__")]
        raise AttributeError(
            f'the desc of {self._kind} has no "{name}".' + did_you_mean(name, known)
        )

    def serialize_to_string(self):
        """What it is in the wire format of framework.proto."""
        return self._message().SerializeToString()


class ProgramDesc(_Desc):
    """A program."""

    _kind = "a program"

    @property
    def _program(self):
        return self._of

    def serialize_to_string(self):
        """The program in the wire format of framework.proto."""
        return self._of._serialize()

    def num_blocks(self):
        """The number of blocks."""
        return self._of.num_blocks

    def block(self, index):
        """A block by its number."""
        return BlockDesc(self._of.block(index))

    def flush(self):
        """Nothing to do: there is no second copy of a program."""

    def get_feed_target_names(self):
        """The names of what the program's feed operators write."""
        return core.feed_names(self._of)

    def get_fetch_target_names(self):
        """The names of what the program's fetch operators read."""
        return core.fetch_names(self._of)

    def _message(self):
        from paddle.fluid.proto import framework_pb2

        return framework_pb2.ProgramDesc.FromString(self._of._serialize())


class BlockDesc(_Desc):
    """A block of a program."""

    _kind = "a block"

    id = property(lambda self: self._of.idx)
    parent = property(lambda self: self._of.parent_idx)

    def get_forward_block_idx(self):
        """The block whose gradient this one computes, or -1."""
        return self._of.forward_block_idx

    def op_size(self):
        """The number of operators."""
        return len(self._of.ops)

    def op(self, index):
        """An operator by its place."""
        return OpDesc(self._of.ops[index])

    def has_var(self, name):
        """Whether the block has a variable."""
        return self._of.has_var(_text(name))

    def has_var_recursive(self, name):
        """Whether the block, or one around it, has a variable."""
        return self._of._find_recursive(_text(name)) is not None

    def var(self, name):
        """The variable of that name, which is added where there is none."""
        found = self._of._find(_text(name))
        return OneVarDesc(self._of._create_var(_text(name)) if found is None else found)

    def find_var(self, name):
        """The variable of that name, or None."""
        found = self._of._find(_text(name))
        return None if found is None else OneVarDesc(found)

    def find_var_recursive(self, name):
        """The variable of that name, here or in a block around, or None."""
        found = self._of._find_recursive(_text(name))
        return None if found is None else OneVarDesc(found)

    def all_vars(self):
        """All variables of the block."""
        return [OneVarDesc(var) for var in self._of._vars()]

    def _remove_op(self, start, end):
        for _ in range(start, end):
            self._of._remove_op(start)

    def _remove_var(self, name):
        self._of._remove_var(_text(name))

    def _rename_var(self, name, new_name):
        self._of._rename_var(_text(name), _text(new_name))

    def _message(self):
        return ProgramDesc(self._of.program)._message().blocks[self._of.idx]


class OpDesc(_Desc):
    """An operator of a block."""

    _kind = "an operator"

    def type(self):
        """The type, such as ``mul``."""
        return self._of.type

    def input(self, name):
        """The names of the variables of an input."""
        return self._of.input(name)

    def output(self, name):
        """The names of the variables of an output."""
        return self._of.output(name)

    def input_names(self):
        """The names of the inputs."""
        return self._of.input_names

    def output_names(self):
        """The names of the outputs."""
        return self._of.output_names

    def input_arg_names(self):
        """The names of all variables that are read."""
        return self._of.input_arg_names

    def output_arg_names(self):
        """The names of all variables that are written."""
        return self._of.output_arg_names

    def inputs(self):
        """From inputs to the names of their variables."""
        return {name: self._of.input(name) for name in self._of.input_names}

    def outputs(self):
        """From outputs to the names of their variables."""
        return {name: self._of.output(name) for name in self._of.output_names}

    def attr_names(self):
        """The names of the attributes."""
        return self._of.attr_names

    def has_attr(self, name):
        """Whether there is an attribute."""
        return self._of.has_attr(name)

    def attr(self, name):
        """An attribute."""
        return self._of.attr(name)

    def attr_type(self, name):
        """The kind of an attribute, by its number in framework.proto."""
        return self._of.attr_type(name)

    def _set_attr(self, name, value):
        self._of._set_attr(name, value)

    def remove_attr(self, name):
        """Leave an attribute out."""
        self._of._remove_attr(name)

    def set_input(self, name, args):
        """Let an input read these variables."""
        self._of._set_input(name, list(args))

    def set_output(self, name, args):
        """Let an output write these variables."""
        self._of._set_output(name, list(args))

    def _rename_input(self, old_name, new_name):
        self._of._rename_input(_text(old_name), _text(new_name))

    def _rename_output(self, old_name, new_name):
        self._of._rename_output(_text(old_name), _text(new_name))

    def _block_attr_id(self, name):
        return self._of.attr(name)

    def block(self):
        """The block that the operator is of."""
        return BlockDesc(self._of.block)

    def _message(self):
        return BlockDesc(self._of.block)._message().ops[self._of.idx]


class OneVarDesc(_Desc, VarDesc):
    """A variable of a block."""

    _kind = "a variable"

    def name(self):
        """The name."""
        return self._of.name

    def set_name(self, name):
        """Call it otherwise, wherever the block uses it."""
        self._of.name = _text(name)

    def shape(self):
        """The extents; -1 where one is not known."""
        return list(self._of.shape)

    get_shape = shape

    def set_shape(self, shape):
        """Declare other extents."""
        self._of._set_shape(list(shape))

    def dtype(self):
        """The type of the elements."""
        return self._of.dtype

    def set_dtype(self, dtype):
        """Declare another type of the elements."""
        self._of._set_dtype(DType(dtype))

    def type(self):
        """What the variable holds."""
        return self._of.type

    def lod_level(self):
        """How many levels of sequences it has."""
        return self._of.lod_level

    def set_lod_level(self, lod_level):
        """Declare another number of levels of sequences."""
        self._of.lod_level = lod_level

    def persistable(self):
        """Whether it lives from run to run."""
        return self._of.persistable

    def set_persistable(self, persistable):
        """Say whether it lives from run to run."""
        self._of.persistable = persistable

    def need_check_feed(self):
        """Whether what is fed must fit the declaration."""
        return self._of.need_check_feed

    def set_need_check_feed(self, need):
        """Say whether what is fed must fit the declaration."""
        self._of.need_check_feed = need

    def is_parameter(self):
        """Whether it is a parameter."""
        return self._of.is_parameter

    def stop_gradient(self):
        """Whether no gradient goes through it."""
        return self._of.stop_gradient

    def set_stop_gradient(self, stop):
        """Say whether no gradient goes through it."""
        self._of.stop_gradient = stop

    def _message(self):
        found = BlockDesc(self._of.block)._message().vars
        return next(var for var in found if var.name == self._of.name)


def _attr_type(self, name):
    """The kind of an attribute, by its number in framework.proto."""
    attrs = OpDesc(self)._message().attrs
    found = next((one.type for one in attrs if one.name == name), None)
    if found is None:
        raise ValueError(f'{self.type} has no attribute "{name}"')
    return found


Program.desc, Block.desc = property(ProgramDesc), property(BlockDesc)
Operator.desc, Variable.desc = property(OpDesc), property(OneVarDesc)
Operator.attr_type = _attr_type
