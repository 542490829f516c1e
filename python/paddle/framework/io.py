"""``paddle.save`` and ``paddle.load``: states as pickled dicts, programs as .pdmodel files."""

import os

import numpy as np

import _flotilla as core
from paddle.base import state as states
from paddle.base.framework import Program

__all__ = ["save", "load"]


def save(obj, path, protocol=4, **configs):
    """Write a state (arrays, tensors, numbers and texts in dicts and lists) or a program.

    >>> paddle.save(program.state_dict(), "model.pdparams")
    """
    if isinstance(obj, Program):
        core.write_file(os.fspath(path), obj._serialize())
    else:
        states.write(obj, path, protocol)


def load(path, **configs):
    """Read what ``save`` wrote. ``return_numpy``: arrays instead of tensors.

    ``keep_name_table``: leave in the table that Paddle adds to the states of layers.
    """
    path = os.fspath(path)
    if path.endswith(".pdmodel"):
        return core.read_program(path)
    state = states.read(path)
    if isinstance(state, dict) and not configs.get("keep_name_table", False):
        state = states.without_name_table(state)
    return state if configs.get("return_numpy", False) else _tensors(state)


def _tensors(value):
    if isinstance(value, np.ndarray) and value.dtype != object:
        tensor = core.LoDTensor()
        tensor.set(value)
        return tensor
    if isinstance(value, dict):
        return {key: _tensors(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_tensors(one) for one in value)
    return value
