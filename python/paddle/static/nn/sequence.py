"""Functions of sequences: rows of a tensor with a level of detail."""

import _flotilla as core
from paddle._rows import rows

__all__ = [*rows(globals()), "sequence_pad", "sequence_pool"]


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence: ``sum``, ``average``, ``sqrt``, ``max``, ``last`` or ``first``.

    ``sqrt``: the sum divided by the root of the length. ``pad_value``: for empty sequences.
    """
    attrs = {"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": float(pad_value)}
    return core.op("sequence_pool", {"X": input}, attrs, outs=["Out", "MaxIndex"])[0]


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """(sequences one beside the other, [sequences, longest, ...]; their lengths).

    ``pad_value``, a variable with one number or a row, is appended to those that are shorter.
    """
    attrs = {"padded_length": -1 if maxlen is None else maxlen}
    inputs, outs = {"X": x, "PadValue": pad_value}, ["Out", "Length"]
    padded, length = core.op("sequence_pad", inputs, attrs, name=name, outs=outs)
    length.stop_gradient = True
    return padded, length
