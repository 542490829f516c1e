"""States of programs as dicts of arrays, in the pickle files that Paddle writes and reads.

A file is a pickled dict from names to numpy arrays. Reading makes nothing but arrays, dicts, lists,
tuples, texts and numbers, whatever the file asks for.
"""

import collections
import io
import os
import pickle
import types

import numpy as np

import _flotilla as core

from .framework import is_persistable
from .scope import global_scope

_NAME_TABLE = "StructuredToParameterName@@"
_reconstruct = np.zeros(0).__reduce__()[0]


def _encode(text, encoding="latin1"):
    return text.encode("latin1")


def _tensor(text, variables):
    """Paddle pickles a tensor as the call eval("data", {"data": array})."""
    if text != "data":
        raise pickle.UnpicklingError(f"a call of eval({text!r})")
    return variables["data"]


_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): collections.OrderedDict,
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ALLOWED[_module, "_reconstruct"] = _reconstruct
    _ALLOWED[_module, "scalar"] = np.float32(0).__reduce__()[0]
for _module in ("builtins", "__builtin__"):
    _ALLOWED[_module, "eval"] = _tensor
    _ALLOWED[_module, "tuple"] = tuple


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


class _Writer(pickle._Pickler):
    """Calls numpy's module by the name that every numpy knows."""

    def save_global(self, obj, name=None):
        if obj is not _reconstruct:
            return super().save_global(obj, name)
        if self.proto >= 4:
            self.save("numpy.core.multiarray")
            self.save("_reconstruct")
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + b"numpy.core.multiarray\n_reconstruct\n")
        self.memoize(obj)
        return None

    dispatch = {**pickle._Pickler.dispatch, types.FunctionType: save_global}


def write(value, path, protocol=4):
    """Pickle a value to a file, which appears whole or not at all."""
    if not isinstance(protocol, int) or not 2 <= protocol <= 4:
        raise ValueError(f"protocol must be 2, 3 or 4, but is {protocol!r}")
    buffer = io.BytesIO()
    _Writer(buffer, protocol).dump(_plain(value))
    core.write_file(os.fspath(path), buffer.getvalue())


def read(path):
    """The value that a file holds, with numpy arrays for tensors."""
    path = os.fspath(path)
    data = core.read_file(path)
    try:
        return _unnamed(_Reader(io.BytesIO(data), encoding="latin1").load())
    except Exception as error:  # a broken pickle fails in many ways
        raise ValueError(f"{path} holds no state that Paddle writes: {error}") from None


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


def _unnamed(value):
    """The value without the names that dygraph tensors are stored with: (name, array)."""
    if isinstance(value, dict):
        return {key: _unnamed(one) for key, one in value.items()}
    if isinstance(value, tuple) and [type(one) for one in value] == [str, np.ndarray]:
        return value[1]
    return value


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
