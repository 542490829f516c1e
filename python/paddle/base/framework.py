"""Programs, blocks and variables as Python sees them, and the guards around them.

The classes are the C++ core's; this file adds the words of Paddle's Python API to them.
"""

import contextlib
import warnings

import numpy as np

import _flotilla as core
from paddle._names import names_of
from paddle._words import of_kind

from .dtype import VarKind, dtype
from .marks import GRAD_VAR_SUFFIX
from .scope import global_scope

Program = core.Program
Block = core.Block
Variable = core.Variable
Operator = core.Operator


# The caller's mistakes are ValueErrors, everything else is a RuntimeError; `except` takes both.
EnforceNotMet = (ValueError, RuntimeError)


def dtype_is_floating(what):
    """Whether an element type is one of floating-point numbers."""
    return "float" in core.dtype_name(what)


class _ParameterType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, Variable) and value.is_parameter


class Parameter(metaclass=_ParameterType):
    """``Parameter(block, [2, 3], "float32", name="w")`` adds a parameter to a block;
    ``isinstance(v, Parameter)`` tells parameters from other variables."""

    def __new__(
        cls,
        block,
        shape,
        dtype,
        type=None,
        name=None,
        trainable=True,
        optimize_attr=None,
        regularizer=None,
        do_model_average=None,
        need_clip=True,
        **more,
    ):
        if shape is None or dtype is None:
            raise ValueError("a parameter needs a shape and a dtype, but one of them is None")
        if any(extent < 0 for extent in shape):
            raise ValueError(f"the extents of a parameter must be known, but are {list(shape)}")
        name = name or core.unique_name("_generated_parameter")
        words = {"shape": shape, "dtype": dtype, "persistable": True, **more}
        var = block._create_var(name, type=None if type is None else int(type), **words)
        rate = 1.0 if optimize_attr is None else optimize_attr.get("learning_rate", 1.0)
        block._make_parameter(name, trainable, rate)
        var.regularizer, var.need_clip = regularizer, need_clip
        var.do_model_average = do_model_average is not False
        return var


# ---- the current programs

# Python's handles to the default programs, so that what is attached to them stays.
_default_programs = core.main_program(), core.startup_program()
_name_scopes = [("/", {})]
_devices = [""]
_seed_of_new = [0, 0]  # of programs whose number is greater than the second


def default_main_program():
    """The program that layers append to."""
    return core.main_program()


def default_startup_program():
    """The program that gives parameters their first values."""
    return core.startup_program()


def _programs():
    return core.main_program(), core.startup_program()


def _switch(main, startup):
    core.switch_programs(main, startup)
    _mark_programs()


def _mark_programs():
    """Ops appended from now on carry the current name scope and device."""
    seed, oldest = _seed_of_new
    for program in _programs():
        if seed and program._id > oldest and not program.random_seed:
            program.random_seed = seed
        program._name_scope = _name_scopes[-1][0]
        program._device = _devices[-1]


def switch_main_program(program):
    """Let layers append to ``program`` from now on; returns the program before."""
    main, startup = _programs()
    _switch(_check_program("program", program), startup)
    return main


def switch_startup_program(program):
    """Let layers put first values into ``program`` from now on; returns the program before."""
    main, startup = _programs()
    _switch(main, _check_program("program", program))
    return startup


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Let layers append to these programs inside the ``with`` block."""
    before = _programs()
    _check_program("main_program", main_program)
    if startup_program is not None:
        _check_program("startup_program", startup_program)
    _switch(main_program, before[1] if startup_program is None else startup_program)
    try:
        yield
    finally:
        _switch(*before)


def _get_var(name, program=None):
    """The variable of that name in the global block of a program, by default the main one."""
    program = default_main_program() if program is None else program
    return _check_program("program", program).global_block().var(name)


def _check_program(what, program):
    return of_kind(program, Program, f"{what} must be a paddle.static.Program, but is")


@contextlib.contextmanager
def _marked(stack, entry):
    stack.append(entry)
    _mark_programs()
    try:
        yield
    finally:
        stack.pop()
        _mark_programs()


@contextlib.contextmanager
def name_scope(prefix=None):
    """Put a word before the ops of the ``with`` block, for people who look at the program."""
    if not prefix:
        raise ValueError("name_scope needs a prefix, but got none")
    path, seen = _name_scopes[-1]
    number = seen[prefix] = seen.get(prefix, -1) + 1
    with _marked(_name_scopes, (f"{path}{prefix}{f'_{number}' if number else ''}/", {})):
        yield


@contextlib.contextmanager
def device_guard(device=None):
    """Mark the ops of the ``with`` block with a device: ``"cpu"``, ``"gpu"``, ``"gpu:1"``."""
    kind, _, number = (device or "").partition(":")
    if kind not in ("", "cpu", "gpu", "xpu", "npu") or (number and not number.isdigit()):
        raise ValueError(f'device must be "cpu", "gpu", "gpu:<number>" or None, but is {device!r}')
    with _marked(_devices, device or ""):
        yield


# ---- modes


def enable_static():
    """Build programs: layers append ops to the default programs. This is the only mode."""


def disable_static(place=None):
    """Refused: programs are always built first and run then."""
    raise RuntimeError(
        "Flotilla trains static programs only: build the program, then run it with "
        "paddle.static.Executor (paddle.disable_static and dygraph mode are not implemented)"
    )


def in_dynamic_mode():
    """Whether operators run at once instead of becoming part of a program: never."""
    return False


in_dygraph_mode = in_dynamic_or_pir_mode = in_dynamic_mode


def in_pir_mode():
    """Whether programs are in the form that 3.0 has: never."""
    return False


# ---- words of blocks


def _create_var(self, *, name=None, **kwargs):
    """Add a variable to the block; an existing name gives a handle to the same variable."""
    return self._create_var(name or core.unique_name("_generated_var"), **kwargs)


def _create_parameter(self, shape, dtype, name=None, initializer=None, **more):
    """Add a parameter to the program's global block."""
    block = self.program.global_block()
    var = Parameter(block, shape, dtype, name=name, **more)
    if initializer is not None:
        initializer(var, block)
    return var


def _prepend_op(self, type, inputs=None, outputs=None, attrs=None, **more):
    """Put an operator before all others."""
    return self._insert_op(0, type, inputs, outputs, attrs, **more)


def _clone_variable(self, var, force_persistable=True):
    """Describe a variable of another block in this one."""
    return self._create_var(
        var.name,
        shape=var.shape,
        dtype=var.dtype,
        type=int(var.type),
        lod_level=var.lod_level,
        persistable=True if force_persistable else var.persistable,
    )


Block.create_var = _create_var
Block.create_parameter = _create_parameter
Block._prepend_op = _prepend_op
Block._insert_op_without_sync = Block._insert_op
Block._clone_variable = _clone_variable
Block._find_var_recursive = Block._find_recursive
Block._sync_with_cpp = lambda self: None
Block.iter_parameters = lambda self: iter(self.all_parameters())
Block.vars = property(lambda self: {v.name: v for v in self._vars()}, doc="Variables by name.")
Block.__str__ = lambda self: "\n".join(str(part) for part in [*self._vars(), *self.ops])
Block.to_string = lambda self, throw_on_error=False, with_details=False: str(self)
Block.backward_block_idx = property(lambda self: -1)

# ---- words of variables


def _get_value(self, scope=None):
    """The variable's tensor in the scope."""
    found = (scope or global_scope()).find_var(self.name)
    if found is None:
        raise ValueError(f'the scope has no variable "{self.name}"; run the startup program first')
    return found.get_tensor()


def _set_value(self, value, scope=None):
    """Give the variable a value in the scope; before the startup program has run, the value with
    which that begins it."""
    if (scope or global_scope()).find_var(self.name) is None:
        return _start_with(self, value)
    tensor = _get_value(self, scope)
    if tensor._is_initialized():
        _check_extents(self, tensor.shape(), value)
    tensor.set(value)
    return None


def _start_with(self, value):
    """Let the default startup program give the variable this value, after all others."""
    from .initializer import Assign

    startup = core.startup_program().global_block()
    if not any(self.name in op.output_arg_names for op in startup.ops):
        _get_value(self)  # says what is missing
    _check_extents(self, self.shape, value)
    Assign(np.asarray(value))(startup.var(self.name), startup)


def _check_extents(self, extents, value):
    found = list(_shape_of(value))
    if list(extents) != found:
        raise ValueError(
            f'variable "{self.name}" has shape {list(extents)}, but the value has shape {found}'
        )


def _shape_of(value):
    return value.shape() if isinstance(value, core.LoDTensor) else value.shape


def _no_value(self, *args, **kwargs):
    """Refused: a variable of a program has no value while the program is built."""
    raise TypeError(
        f'variable "{self.name}" has no value while the program is built; run the program and '
        "fetch it: executor.run(program, fetch_list=[...])"
    )


def _is_there(self):
    """True: ``if bias:`` asks whether there is a variable, as it does in Paddle."""
    if self.dtype == "bool":
        warnings.warn(
            f'the truth of "{self.name}" is not known while the program is built, so Python takes '
            "it as true; to choose while the program runs, use paddle.static.nn.cond",
            stacklevel=2,
        )
    return True


def _no_backward(self, *args, **kwargs):
    """Refused: gradients become part of a program by an optimizer or append_backward."""
    raise RuntimeError(
        f'gradients of "{self.name}" are appended to the program: call optimizer.minimize(loss) '
        "or paddle.static.append_backward(loss), then run the program"
    )


Variable.dtype = property(lambda self: dtype(self._dtype_code), doc="The type of the elements.")
Variable.type = property(lambda self: VarKind(self._kind), doc="What the variable holds.")
Variable.ndim = property(lambda self: len(self.shape), doc="The number of axes.")
Variable.dim = Variable.ndimension = lambda self: len(self.shape)
Variable.grad_name = property(lambda self: grad_var_name(self.name), doc="The gradient's name.")
Variable.numpy = Variable.item = Variable.tolist = Variable.__array__ = _no_value
Variable.gradient = _no_value
Variable.__float__ = Variable.__int__ = _no_value
Variable.__bool__ = _is_there
Variable.backward = Variable.clear_gradient = Variable.register_hook = _no_backward
Variable.get_value = _get_value
Variable.set_value = _set_value
Variable.gradient_clip_attr = Variable.error_clip = None  # unless a program says otherwise
Variable.is_distributed = False
Variable.optimize_attr = property(
    lambda self: {"learning_rate": self._learning_rate},
    lambda self, attr: setattr(self, "_learning_rate", attr["learning_rate"]),
    doc="How an optimizer treats the parameter.",
)


def grad_var_name(var_name):
    """The name of a variable's gradient."""
    return var_name + GRAD_VAR_SUFFIX


# ---- words of operators

Operator._is_optimize_op = lambda self: bool(self._role & core.kOptimizeRole)
Operator._is_backward_op = lambda self: bool(self._role & core.kBackwardRole)

# ---- words of programs


def _clone(self, for_test=False):
    """Copy the program; with ``for_test``, without backward and optimizer operators."""
    copy = self._clone(for_test)
    if not for_test:
        core.fleet.copied(self, copy)
    copy._gradient_clip, copy._error_clips = self._gradient_clip, self._error_clips
    return copy


def _list_vars(self):
    """All variables, block by block."""
    return (var for block in self.blocks for var in block._vars())


def _state_dict(self, mode="all", scope=None):
    """The tensors of the program in the scope: of all persistable variables, or of one sort.

    ``mode``: ``"param"`` for parameters, ``"opt"`` for what optimizers keep, ``"all"`` for both.
    """
    if mode not in ("all", "param", "opt"):
        raise ValueError(f'mode must be "all", "param" or "opt", but is {mode!r}')
    wanted = {"all": is_persistable, "param": is_parameter, "opt": is_belong_to_optimizer}[mode]
    return {var.name: var.get_value(scope) for var in self.list_vars() if wanted(var)}


def _set_state_dict(self, state_dict, scope=None):
    """Give the program's variables the values of a dict; names it does not have are left out."""
    from .state import fitting, store

    store(fitting(state_dict, self), scope)


def _enter(self, index):
    around = [self.current_block().idx]
    while around[-1] > 0:
        around.append(self.block(around[-1]).parent_idx)
    if index not in around:
        raise ValueError(
            f"block {around[0]} lies in the blocks {around[1:]}, and only these can become the current "
            f"one, but current_block_idx is set to {index}"
        )
    for _ in around[: around.index(index)]:
        self._rollback()


def _seed_all(self, seed=0):
    """Seed the program, and all that are made from now on, from when layers append to them."""
    self.random_seed = int(seed)
    _seed_of_new[:] = int(seed), Program()._id


@contextlib.contextmanager
def _role_guard(program, role, role_var=()):
    before = program._op_role, program._op_role_var
    names = [var if isinstance(var, str) else var.name for var in role_var]
    program._op_role, program._op_role_var = role, names
    try:
        yield
    finally:
        program._op_role, program._op_role_var = before


Program.parse_from_string = staticmethod(Program.parse_from_string)  # also of a program
Program.clone = _clone
Program.current_block_idx = property(
    lambda self: self.current_block().idx, _enter, doc="The block that layers append to."
)
Program.global_seed = _seed_all
Program.list_vars = _list_vars
Program.state_dict = _state_dict
Program.set_state_dict = _set_state_dict
Program.blocks = property(lambda self: [self.block(i) for i in range(self.num_blocks)])
Program.__deepcopy__ = lambda self, memo: self.clone()
Program.__copy__ = lambda self: self.clone()
Program._sync_with_cpp = lambda self: None
Program._prune = lambda self, targets: self._prune_to([], targets)
Program._optimized_guard = lambda self, vars: _role_guard(self, core.kOptimizeRole, vars)
Program._backward_role_guard = lambda self: _role_guard(self, core.kBackwardRole)
Program._lr_schedule_guard = lambda self, is_with_opt=False: _role_guard(
    self, core.kLrSchedRole | (core.kOptimizeRole if is_with_opt else 0)
)


@property
def _fleet_options(self):
    """What PaddleRec's programs say to a run of a data set: dump_fields_path and so on."""
    return self.__dict__.setdefault("_fleet_words", {})


@_fleet_options.setter
def _fleet_options(self, options):
    self._fleet_words = options


Program._fleet_opt = _fleet_options
Program._gradient_clip = None  # what set_gradient_clip said: (clip, names of parameters or None)
Program._error_clips = {}  # from names of variables to what clips their gradients

# ---- sorts of variables


def is_persistable(var):
    """Whether the variable lives in the scope from run to run and holds a tensor."""
    return var.persistable and var.type in (VarKind.LOD_TENSOR, VarKind.SELECTED_ROWS)


def is_parameter(var):
    """Whether the variable is a parameter."""
    return var.is_parameter


def is_belong_to_optimizer(var):
    """Whether the variable is what an optimizer keeps: persistable, and no parameter."""
    return is_persistable(var) and not var.is_parameter and not var.is_data


__getattr__, __dir__ = names_of(
    __name__,
    elsewhere=dict.fromkeys(
        ("IrGraph", "IrNode", "IrOpNode", "IrVarNode"), f"{__package__}.ir_graph"
    ),
)
