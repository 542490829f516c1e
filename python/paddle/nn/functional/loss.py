"""Losses."""

import _flotilla as core
from paddle._rows import rows
from paddle.tensor.attribute import shape
from paddle.tensor.manipulation import cast, reshape, squeeze, unsqueeze
from paddle.tensor.math import multiply, subtract, sum
from paddle.tensor.ops import abs, square
from paddle.tensor.stat import mean

from .common import embedding, label_smooth, one_hot

__all__ = [
    *rows(globals()),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div"),
    *("l1_loss", "mse_loss", "smooth_l1_loss", "softmax_with_cross_entropy"),
]


def reduced(loss, reduction):
    """The mean, the sum, or all of a loss."""
    if reduction == "mean":
        return mean(loss)
    if reduction == "sum":
        return sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f'reduction must be "mean", "sum" or "none", but is {reduction!r}')


def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
):
    """-log of the probability that the softmax of ``logits`` gives the label, row by row."""
    loss, softmax = core.softmax_with_cross_entropy(
        logits, label, soft_label, ignore_index, numeric_stable_mode, axis
    )
    return (loss, softmax) if return_softmax else loss


def cross_entropy(
    input,
    label,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
    name=None,
):
    """-log of the probability of the label. ``input`` holds logits, unless ``use_softmax=False``.

    ``label``: classes, or with ``soft_label`` a probability for each class. ``weight``: one for
    each class. Rows of the class ``ignore_index`` give 0.

    >>> loss = cross_entropy(logits, label)  # [None, 10] and [None, 1]
    """
    missing = label.ndim + 1 == input.ndim
    if missing:
        label = unsqueeze(label, axis)
    if label_smoothing > 0:
        label, soft_label = _smoothed(input, label, soft_label, axis, label_smoothing), True
    loss, _ = core.softmax_with_cross_entropy(
        input, label, soft_label, ignore_index, True, axis, use_softmax
    )
    rows = None if weight is None else _weights(weight, label, ignore_index, soft_label, axis)
    loss = loss if rows is None else multiply(loss, rows)
    if reduction == "mean":
        if rows is None and ignore_index >= 0 and not soft_label:
            rows = cast(label != ignore_index, loss.dtype)
        return mean(loss) if rows is None else _ratio(sum(loss), sum(rows))
    if reduction == "none" and missing:
        return squeeze(loss, axis)
    return reduced(loss, reduction)


def _smoothed(input, label, soft_label, axis, epsilon):
    if not soft_label:
        label = one_hot(squeeze(label, axis), input.shape[axis])
    return cast(label_smooth(label, epsilon=epsilon), input.dtype)


def _weights(weight, label, ignore_index, soft_label, axis):
    """The weight of each row, in the shape of the loss; that of an ignored one is 0."""
    if soft_label:
        after = -1 - axis if axis < 0 else label.ndim - 1 - axis
        by_class = reshape(weight, [-1] + [1] * after)
        return sum(multiply(cast(label, weight.dtype), by_class), axis, keepdim=True)
    counts = label != ignore_index
    places = multiply(cast(counts, label.dtype), label)
    found = squeeze(embedding(places, reshape(weight, [-1, 1])), -1)
    return multiply(found, cast(counts, weight.dtype))


def _ratio(total, count):
    """total / count, and 0 / 1 where nothing counts."""
    return total / (count + cast(count == 0.0, count.dtype))


def mse_loss(input, label, reduction="mean", name=None):
    """(input - label)^2."""
    return reduced(square(subtract(input, label)), reduction)


def l1_loss(input, label, reduction="mean", name=None):
    """|input - label|."""
    return reduced(abs(subtract(input, label)), reduction)


def smooth_l1_loss(input, label, reduction="mean", delta=1.0, name=None):
    """Half the square of the difference where that is below ``delta``, linear above."""
    inputs, attrs = {"X": input, "Y": label}, {"delta": float(delta)}
    loss = core.op("huber_loss", inputs, attrs, outs=["Residual", "Out"])[1]
    return reduced(loss, reduction)


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """-label * log(input) - (1 - label) * log(1 - input)."""
    inputs = {"X": input, "Label": label}
    loss = core.op("bce_loss", inputs, layer="binary_cross_entropy")
    return reduced(loss if weight is None else multiply(loss, weight), reduction)


def binary_cross_entropy_with_logits(
    logit, label, weight=None, reduction="mean", pos_weight=None, name=None
):
    """The binary cross entropy of the sigmoid of ``logit``.

    ``pos_weight`` multiplies what ones contribute, ``weight`` all.
    """
    inputs = {"X": logit, "Label": label}
    if pos_weight is not None:
        inputs["pos_weight"] = multiply(label, pos_weight - 1.0) + 1.0
    loss = core.op("sigmoid_cross_entropy_with_logits", inputs)
    return reduced(loss if weight is None else multiply(loss, weight), reduction)


def kl_div(input, label, reduction="mean", name=None):
    """label * (log(label) - input); ``input`` holds logarithms of probabilities."""
    inputs, attrs = {"X": input, "Target": label}, {"reduction": "none"}
    loss = core.op("kldiv_loss", inputs, attrs, layer="kl_div")
    if reduction == "batchmean":
        return sum(loss) / cast(shape(input)[0], loss.dtype)
    return reduced(loss, reduction)
