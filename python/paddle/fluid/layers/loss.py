"""Losses in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import writes_v1
from paddle.nn.functional import distance
from paddle.nn.functional.loss import mse_loss as _mse_loss
from paddle.nn.functional.loss import (  # noqa: F401
    softmax_with_cross_entropy,
    square_error_cost,
)
from paddle.static.nn.sampled import (  # noqa: F401
    hsigmoid,
    nce,
    sampled_softmax_with_cross_entropy,
)
from paddle.tensor.manipulation import reshape
from paddle.tensor.math import multiply, scale

__all__ = [
    *("bpr_loss", "cross_entropy", "dice_loss", "edit_distance", "huber_loss", "kldiv_loss"),
    *("margin_rank_loss", "sampled_softmax_with_cross_entropy", "teacher_student_sigmoid_loss"),
    *("hsigmoid", "mse_loss", "nce", "npair_loss", "rank_loss", "smooth_l1"),
    *("sigmoid_cross_entropy_with_logits", "softmax_with_cross_entropy", "square_error_cost"),
    "sigmoid_focal_loss",
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


def sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25):
    """The binary cross entropy of the sigmoid of ``x``, [rows, classes], less where it is right.

    ``label`` holds the class of each row from 1 on, 0 for none; ``fg_num`` says how many have one.
    """
    inputs = {"X": x, "Label": label, "FgNum": fg_num}
    attrs = {"gamma": float(gamma), "alpha": float(alpha)}
    return core.op("sigmoid_focal_loss", inputs, attrs)


def huber_loss(input, label, delta):
    """Half the square of the difference where that is below ``delta``, linear above."""
    inputs, attrs = {"X": input, "Y": label}, {"delta": float(delta)}
    return core.op("huber_loss", inputs, attrs, outs=["Residual", "Out"])[1]


def kldiv_loss(x, target, reduction="mean", name=None):
    """target * (log(target) - x); ``x`` holds logarithms of probabilities."""
    inputs, attrs = {"X": x, "Target": target}, {"reduction": reduction}
    return core.op("kldiv_loss", inputs, attrs, name=name)


dice_loss = writes_v1(distance.dice_loss)
npair_loss = writes_v1(distance.npair_loss)
mse_loss = writes_v1(_mse_loss)


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The sums of the rows' smooth differences: half the square times sigma^2 near zero, linear
    beyond 1 / sigma^2."""
    if inside_weight is not None:
        x, y = multiply(x, inside_weight), multiply(y, inside_weight)
    curve = 1.0 if sigma is None else float(sigma) * float(sigma)
    loss = scale(huber_loss(x, y, 1 / curve), curve)
    if outside_weight is not None:
        loss = multiply(loss, outside_weight)
    return core.reduce("reduce_sum", reshape(loss, [0, -1]), 1, True)


def rank_loss(label, left, right, name=None):
    """The cross entropy of the probability that left stands before right."""
    return core.op("rank_loss", {"Label": label, "Left": left, "Right": right}, name=name)


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """max(0, -label * (left - right) + margin)."""
    inputs, attrs = {"Label": label, "X1": left, "X2": right}, {"margin": float(margin)}
    return core.op("margin_rank_loss", inputs, attrs, outs=["Out", "Activated"], name=name)[0]


def bpr_loss(input, label, name=None):
    """How often other classes stand before that of the label: the mean of
    -log(sigmoid(label's - other's))."""
    return core.op("bpr_loss", {"X": input, "Label": label}, name=name)


def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """The cross entropies of a click and of a teacher's score, both in one label: -2 and -1 stand
    for no click and a click without a score; 1 is added to the score of a click."""
    bounds = {"soft_max_up_bound": float(soft_max_up_bound)}
    bounds["soft_max_lower_bound"] = float(soft_max_lower_bound)
    return core.op("teacher_student_sigmoid_loss", {"X": input, "Label": label}, bounds)


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
