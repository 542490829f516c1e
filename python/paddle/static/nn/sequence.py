"""Functions of sequences: rows of a tensor with a level of detail."""

import _flotilla as core


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence: ``sum``, ``average``, ``sqrt``, ``max``, ``last`` or ``first``.

    ``sqrt``: the sum divided by the root of the length. ``pad_value``: for empty sequences.
    """
    attrs = {"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": float(pad_value)}
    return core.op("sequence_pool", {"X": input}, attrs, outs=["Out", "MaxIndex"])[0]


def sequence_first_step(input):
    """The first row of each sequence."""
    return sequence_pool(input, "first")


def sequence_last_step(input):
    """The last row of each sequence."""
    return sequence_pool(input, "last")
