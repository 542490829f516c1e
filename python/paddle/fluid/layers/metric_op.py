"""Metrics of programs in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of

__all__ = ["accuracy", "auc"]


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


__getattr__, __dir__ = names_of(__name__)
