"""Tensors whose rows form sequences."""

import numpy as np

import _flotilla as core

LoDTensor = core.LoDTensor


def _missing(self, name):
    """Programs for a dynamic graph take values for variables."""
    if not name.startswith("_") and hasattr(core.Variable, name):
        raise AttributeError(
            f"a tensor of values has no {name!r}, which variables of a program have: declare it with "
            "paddle.static.data, build the program with it, and feed the values to Executor.run"
        )
    raise AttributeError(f"'LoDTensor' object has no attribute {name!r}")


LoDTensor.__getattr__ = _missing


class LoDTensorArray(list):
    """A list of LoDTensors."""


def create_lod_tensor(data, recursive_seq_lens, place):
    """A LoDTensor from an array, a list of sequences or a LoDTensor, and the sequences' lengths.

    >>> create_lod_tensor(np.ones([5, 1]), [[2, 3]], paddle.CPUPlace()).lod()
    [[0, 2, 5]]
    """
    if isinstance(data, list):
        lengths = [[len(sequence) for sequence in data]]
        if lengths != [list(level) for level in recursive_seq_lens[-1:]]:
            raise ValueError(
                f"recursive_seq_lens is {recursive_seq_lens}, "
                f"but the sequences of data have the lengths {lengths[0]}"
            )
        data = np.concatenate([np.asarray(sequence, "int64") for sequence in data]).reshape(-1, 1)
    tensor = LoDTensor()
    tensor.set(np.asarray(data), place)
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    if not tensor.has_valid_recursive_sequence_lengths():
        raise ValueError(
            f"recursive_seq_lens {recursive_seq_lens} does not fit data of {len(tensor)} rows"
        )
    return tensor


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high):
    """A LoDTensor of random whole numbers from ``low`` to ``high``, both included."""
    rows = sum(recursive_seq_lens[-1])
    data = np.random.randint(low, high + 1, [rows, *base_shape]).astype("int64")
    return create_lod_tensor(data, recursive_seq_lens, place)
