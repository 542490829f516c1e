"""Metrics that are part of a program."""

import _flotilla as core

from .makers import create_global_var


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows of ``input`` whose label is among their ``k`` largest values."""
    return core.accuracy(input, label, k, correct, total)


def auc(
    input,
    label,
    curve="ROC",
    num_thresholds=4095,
    topk=1,
    slide_steps=1,
    ins_tag_weight=None,
):
    """The area under the curve of column 1 of ``input``, over all batches and the last ones.

    Returns (auc, batch_auc, [batch_pos, batch_neg, pos, neg]); the counts live in the scope.
    """
    return core.auc(input, label, curve, num_thresholds, slide_steps)


def ctr_metric_bundle(input, label, ins_tag_weight=None):
    """Sums over all batches, of what metrics of click models need, for fleet.metrics.

    ``input``: the chances of clicks. Returns (squared errors, absolute errors, chances, sigmoids of
    chances, clicks, samples): variables that keep their values from run to run.
    """
    import paddle

    real = paddle.cast(label, "float32")
    weight = paddle.ones_like(real) if ins_tag_weight is None else ins_tag_weight
    error = input - real
    parts = [
        *(paddle.square(error), paddle.abs(error), input),
        *(paddle.nn.functional.sigmoid(input) * weight, real, weight),
    ]
    sums = []
    for part in parts:
        kept = create_global_var([1], 0.0, "float32", persistable=True)
        paddle.assign(kept + paddle.reshape(paddle.sum(part), [1]), kept)
        kept.stop_gradient = True
        sums.append(kept)
    return tuple(sums)
