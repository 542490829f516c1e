"""States of programs as dicts of arrays, in the pickle files that Paddle writes and reads.

A file is a pickled dict from names to numpy arrays (:mod:`paddle.base.restricted_pickle`).
"""

import io
import os
import pickle
import types

import numpy as np

import _flotilla as core
from paddle._words import of_kind

from . import restricted_pickle
from .framework import is_persistable
from .scope import global_scope

_NAME_TABLE = "StructuredToParameterName@@"
# The functions that numpy pickles its values with.
_FUNCTIONS = (np.zeros(0).__reduce__()[0], np.float32(0).__reduce__()[0])


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
        return restricted_pickle.loads(data, unnamed=True)
    except restricted_pickle.Refused as error:
        raise ValueError(f"{where} is not a state saved by Paddle: {error}") from None


def write(value, path, protocol=4):
    """Pickle a value to a file, which appears whole or not at all."""
    core.write_file(os.fspath(path), to_bytes(value, protocol))


def read(path):
    """The value that a file holds, with numpy arrays for tensors."""
    path = os.fspath(path)
    return from_bytes(core.read_file(path), path)


def read_from(files, name, folder):
    """The dict that a file holds which is read together with others of its folder."""
    where = os.path.join(folder, name)
    state = from_bytes(files.read(name), where)
    said = f"{where} must hold a dict from names to arrays, but holds a value of type"
    return of_kind(state, dict, said, ValueError)


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
        "a state may hold only arrays, tensors, numbers, strings, and dicts and lists of them, but "
        f"one value is of type {type(value).__name__}"
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


def fitting(state, program, wanted=is_persistable):
    """The values in ``state`` of the program's variables for which ``wanted`` is true, by name."""
    return {
        var.name: _fitting(var, np.asarray(state[var.name]))
        for var in program.list_vars()
        if wanted(var) and var.name in state
    }


def store(values, scope=None):
    """Give variables their values."""
    scope = scope or global_scope()
    for name, value in values.items():
        (scope.find_var(name) or scope.var(name)).get_tensor().set(value)


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
