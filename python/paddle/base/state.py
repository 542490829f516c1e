"""States of programs as dicts of arrays, in the pickle files that Paddle writes and reads.

A file is a pickled dict from names to numpy arrays. Reading makes nothing but arrays, dicts, lists,
tuples, texts and numbers, whatever the file asks for.
"""

import io
import os
import pickle
import types

import numpy as np

import _flotilla as core

from .framework import is_persistable
from .scope import global_scope

_NAME_TABLE = "StructuredToParameterName@@"
# The functions that numpy pickles its values with.
_FUNCTIONS = (np.zeros(0).__reduce__()[0], np.float32(0).__reduce__()[0])


# ---- reading: a file builds the stand-ins below, which become arrays once they are found in order


class _DType:
    def __init__(self, code="", *_):
        self.code, self.order = code, "="

    def __setstate__(self, state):
        self.order = state[1]

    def resolve(self):
        if self.code[:1] not in ("b", "i", "u", "f"):
            raise pickle.UnpicklingError(f"elements of type {self.code!r}")
        return np.dtype(self.code).newbyteorder(self.order)


class _Array:
    def __init__(self, *_):
        self.state = None

    def __setstate__(self, state):
        self.state = state[-4:]

    def resolve(self):
        shape, dtype, fortran, data = self.state
        data = data.encode("latin1") if isinstance(data, str) else data
        array = np.frombuffer(data, dtype.resolve())
        return array.reshape(shape, order="F" if fortran else "C").astype(
            array.dtype.newbyteorder("=")
        )


def _scalar(dtype, data):
    array = _Array()
    array.state = ((), dtype, False, data)
    return array


def _encode(text, encoding="latin1"):
    return text.encode("latin1")


def _tensor(text, variables):
    """Paddle pickles a tensor as the call eval("data", {"data": array})."""
    if text != "data":
        raise pickle.UnpicklingError(f"a call of eval({text!r})")
    return variables["data"]


_ALLOWED = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): dict,
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ALLOWED[_module, "_reconstruct"] = _Array
    _ALLOWED[_module, "scalar"] = _scalar
for _module in ("builtins", "__builtin__"):
    _ALLOWED[_module, "eval"] = _tensor
    _ALLOWED[_module, "tuple"] = tuple


class _Reader(pickle._Unpickler):
    """Python's own, because the one in C takes as much memory as a broken file asks for."""

    def find_class(self, module, name):
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def _resolve(value, done):
    """The value with arrays in place of stand-ins; ``done`` holds what is used more than once."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if id(value) not in done:
        if isinstance(value, dict):
            made = {key: _resolve(one, done) for key, one in value.items()}
        elif isinstance(value, (list, tuple)):
            made = type(value)(_resolve(one, done) for one in value)
            # Tensors of dygraph come with their names.
            named = isinstance(made, tuple) and [type(one) for one in made] == [str, np.ndarray]
            made = made[1] if named else made
        elif isinstance(value, _Array):
            made = value.resolve()
        else:
            raise pickle.UnpicklingError(f"a value of type {type(value).__name__}")
        done[id(value)] = made
    return done[id(value)]


# ---- writing


class _Writer(pickle._Pickler):
    """Calls numpy's module by the name that every numpy knows."""

    def save_global(self, obj, name=None):
        if not any(obj is one for one in _FUNCTIONS):
            return super().save_global(obj, name)
        if self.proto >= 4:
            self.save("numpy.core.multiarray")
            self.save(obj.__name__)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"numpy.core.multiarray\n{obj.__name__}\n".encode())
        self.memoize(obj)
        return None

    dispatch = {**pickle._Pickler.dispatch, types.FunctionType: save_global}


def to_bytes(value, protocol=4):
    """A value of arrays, dicts, lists, texts and numbers as bytes."""
    if not isinstance(protocol, int) or not 2 <= protocol <= 4:
        raise ValueError(f"protocol must be 2, 3 or 4, but is {protocol!r}")
    buffer = io.BytesIO()
    _Writer(buffer, protocol).dump(_plain(value))
    return buffer.getvalue()


def from_bytes(data, where):
    """The value that bytes hold, whoever wrote them; ``where`` is named if they hold none."""
    try:
        return _resolve(_Reader(io.BytesIO(data), encoding="latin1").load(), {})
    except Exception as error:  # a broken pickle fails in many ways
        raise ValueError(f"{where} holds no state that Paddle writes: {error}") from None


def write(value, path, protocol=4):
    """Pickle a value to a file, which appears whole or not at all."""
    core.write_file(os.fspath(path), to_bytes(value, protocol))


def read(path):
    """The value that a file holds, with numpy arrays for tensors."""
    path = os.fspath(path)
    return from_bytes(core.read_file(path), path)


def _plain(value):
    """The value with arrays in place of tensors."""
    if isinstance(value, (core.LoDTensor, np.ndarray)):
        return np.array(value)
    if isinstance(value, dict):
        return type(value)((key, _plain(one)) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(one) for one in value)
    if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        return value
    raise TypeError(
        "a state holds arrays, tensors, numbers, texts, dicts and lists of them, but one value is "
        f"of type {type(value).__name__}"
    )


def without_name_table(state):
    """A state without the table that Paddle adds to states of layers."""
    return {key: value for key, value in state.items() if key != _NAME_TABLE}


def arrays_of(program, wanted, scope=None):
    """The values of the program's variables for which ``wanted`` is true, by name."""
    scope = scope or global_scope()
    arrays = {}
    for var in program.list_vars():
        if not wanted(var):
            continue
        found = scope.find_var(var.name)
        if found is None or not found.is_initialized():
            raise ValueError(
                f'variable "{var.name}" cannot be saved: it has no value. '
                "Run the startup program first"
            )
        arrays[var.name] = np.array(found.get_tensor())
    return arrays


def store(state, program, scope=None, wanted=is_persistable):
    """Give the program's variables their values in ``state``; returns the names that were used."""
    scope = scope or global_scope()
    values = {}
    for var in program.list_vars():
        if wanted(var) and var.name in state:
            values[var.name] = _fitting(var, np.asarray(state[var.name]))
    for name, value in values.items():
        (scope.find_var(name) or scope.var(name)).get_tensor().set(value)
    return list(values)


def _fitting(var, value):
    """The value as the variable is declared; scalars were [1] before Paddle 2.5 and are [] since."""
    if -1 in var.shape:
        return value
    if value.shape != var.shape and value.size == 1 and len(var.shape) <= 1:
        value = value.reshape(var.shape)
    if value.shape != var.shape or var.dtype != value.dtype:
        raise ValueError(
            f'the state holds "{var.name}" as {value.dtype}{list(value.shape)}, '
            f"but the program declares {var.dtype.name}{list(var.shape)}"
        )
    return value
