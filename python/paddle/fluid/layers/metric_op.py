"""Metrics of programs in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of

__all__ = ["accuracy", "auc", "mean_iou"]


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows of ``input`` whose label is among their ``k`` largest values.

    ``correct`` and ``total``: variables that get the counts.
    """
    return core.accuracy(input, label, k, correct, total, "top_k")


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1):
    """The area under the curve of column 1 of ``input``, over all batches and the last ones.

    Returns (auc, batch_auc, [batch_pos, batch_neg, pos, neg]); the counts live in the scope.
    """
    return core.auc(input, label, curve, num_thresholds, slide_steps)


def mean_iou(input, label, num_classes):
    """How well classes of pixels were found: (mean over classes, wrong, correct).

    A class's share is what was right of all that belonged to it or was taken for it.
    """
    inputs = {"Predictions": input, "Labels": label}
    outs = ["OutMeanIou", "OutWrong", "OutCorrect"]
    attrs = {"num_classes": num_classes}
    return tuple(core.op("mean_iou", inputs, attrs, outs=outs, stop_gradient=True))


__getattr__, __dir__ = names_of(__name__)
