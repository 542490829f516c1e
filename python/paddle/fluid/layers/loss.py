"""Losses in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle.nn.functional.activation import relu, softplus
from paddle.nn.functional.common import one_hot
from paddle.nn.functional.distance import dice_loss, npair_loss  # noqa: F401
from paddle.nn.functional.loss import (  # noqa: F401
    mse_loss,
    softmax_with_cross_entropy,
    square_error_cost,
)
from paddle.tensor.manipulation import flatten, squeeze
from paddle.tensor.math import multiply, scale, subtract, sum

__all__ = [
    *("bpr_loss", "cross_entropy", "dice_loss", "huber_loss", "kldiv_loss", "margin_rank_loss"),
    *("mse_loss", "npair_loss", "rank_loss", "smooth_l1"),
    *("sigmoid_cross_entropy_with_logits", "softmax_with_cross_entropy", "square_error_cost"),
]


def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """-log of the probability of the label, row by row; ``input`` holds probabilities."""
    return core.cross_entropy(input, label, soft_label, ignore_index)


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """The binary cross entropy of the sigmoid of ``x``; ``normalize`` divides by the labels that
    count."""
    attrs = {"ignore_index": ignore_index, "normalize": normalize}
    inputs = {"X": x, "Label": label}
    return core.op("sigmoid_cross_entropy_with_logits", inputs, attrs, name=name)


def huber_loss(input, label, delta):
    """Half the square of the difference where that is below ``delta``, linear above."""
    inputs, attrs = {"X": input, "Y": label}, {"delta": float(delta)}
    return core.op("huber_loss", inputs, attrs, outs=["Residual", "Out"])[1]


def kldiv_loss(x, target, reduction="mean", name=None):
    """target * (log(target) - x); ``x`` holds logarithms of probabilities."""
    inputs, attrs = {"X": x, "Target": target}, {"reduction": reduction}
    return core.op("kldiv_loss", inputs, attrs, name=name)


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The sums of the rows' smooth differences: half the square times sigma^2 near zero, linear
    beyond 1 / sigma^2."""
    if inside_weight is not None:
        x, y = multiply(x, inside_weight), multiply(y, inside_weight)
    curve = 1.0 if sigma is None else float(sigma) * float(sigma)
    loss = scale(huber_loss(x, y, 1 / curve), curve)
    if outside_weight is not None:
        loss = multiply(loss, outside_weight)
    return core.reduce("reduce_sum", flatten(loss, 1), 1, True)


def rank_loss(label, left, right, name=None):
    """The cross entropy of the probability that left stands before right."""
    apart = subtract(left, right)
    return subtract(softplus(apart), multiply(label, apart))


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """max(0, -label * (left - right) + margin)."""
    return relu(multiply(label, subtract(right, left)) + margin)


def bpr_loss(input, label, name=None):
    """How often other classes stand before that of the label: the mean of
    -log(sigmoid(label's - other's))."""
    classes = input.shape[-1]
    ours = one_hot(squeeze(label, [-1]), classes)
    chosen = sum(multiply(input, ours), -1, keepdim=True)
    behind = multiply(softplus(subtract(input, chosen)), 1.0 - ours)
    return scale(sum(behind, -1, keepdim=True), 1 / (classes - 1))


__getattr__, __dir__ = names_of(__name__)
