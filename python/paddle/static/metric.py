"""Metrics that are part of a program."""

import _flotilla as core


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
