"""Losses in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._rows import rows
from paddle.tensor.manipulation import reshape
from paddle.tensor.math import multiply, scale

__all__ = [*rows(globals()), "edit_distance", "smooth_l1"]


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The sums of the rows' smooth differences: half the square times sigma^2 near zero, linear
    beyond 1 / sigma^2."""
    if inside_weight is not None:
        x, y = multiply(x, inside_weight), multiply(y, inside_weight)
    curve = 1.0 if sigma is None else float(sigma) * float(sigma)
    loss = scale(huber_loss(x, y, 1 / curve), curve)  # noqa: F821 - a row
    if outside_weight is not None:
        loss = multiply(loss, outside_weight)
    return core.reduce("reduce_sum", reshape(loss, [0, -1]), 1, True)


def edit_distance(
    input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None
):
    """(how far each sequence is from that of ``label``, the number of sequences).

    ``normalized``: distances are divided by the length of the label. With lengths, sequences are
    the beginnings of padded rows.
    """
    if ignored_tokens:
        attrs = {"tokens": list(ignored_tokens)}
        input, label = (core.op("sequence_erase", {"X": x}, attrs) for x in (input, label))
    inputs = {"Hyps": input, "Refs": label}
    if input_length is not None and label_length is not None:
        inputs.update(HypsLength=input_length, RefsLength=label_length)
    outs = ["Out", "SequenceNum"]
    found = core.op(
        "edit_distance", inputs, {"normalized": normalized}, outs=outs, stop_gradient=True
    )
    return tuple(found)


__getattr__, __dir__ = names_of(__name__)
