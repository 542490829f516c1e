"""Metrics: ``accuracy`` of a program, and classes that put numbers together batch by batch."""

import abc

import numpy as np

from paddle._rows import rows
from paddle._words import several
from paddle.base.framework import Variable
from paddle.tensor.manipulation import cast, reshape
from paddle.tensor.search import topk


rows(globals())


def share(part, of):
    """Which share a part is; 0 of nothing."""
    return part / of if of else 0.0


def area(positive, negative, otherwise):
    """The area under the curve of hits against false alarms, from how many samples of both kinds
    each step of predictions holds, the smallest first; ``otherwise`` where one kind is missing."""
    positive, negative = (np.asarray(counts, float)[::-1] for counts in (positive, negative))
    pairs = positive.sum() * negative.sum()
    above = np.cumsum(positive)
    return float((negative * (above - positive / 2)).sum() / pairs) if pairs else otherwise


class Metric(abc.ABC):
    """A metric with ``reset``, ``update`` and ``accumulate``."""

    @abc.abstractmethod
    def reset(self):
        """Forget all batches."""

    @abc.abstractmethod
    def update(self, *args):
        """Take in a batch."""

    @abc.abstractmethod
    def accumulate(self):
        """The metric of all batches together."""

    @abc.abstractmethod
    def name(self):
        """What the metric is called."""

    def compute(self, *args):
        """What ``update`` takes, from outputs and labels; may append ops."""
        return args


class _Named(Metric):
    def name(self):
        """What the metric is called: a name, or names such as acc_top1 and acc_top5."""
        return self._name


class Accuracy(_Named):
    """The share of rows whose label is among their k largest values, for each k of ``topk``."""

    def __init__(self, topk=(1,), name=None, *args, **kwargs):
        self.topk, self.maxk = tuple(several(topk)), max(several(topk))
        name = name or "acc"
        self._name = [name] if self.maxk == 1 else [f"{name}_top{k}" for k in self.topk]
        self.reset()

    def compute(self, pred, label, *args):
        """Which of the places of the largest values in ``pred`` are the label, as 0 and 1."""
        if isinstance(pred, Variable):
            places = topk(pred, self.maxk)[1]
            return cast(places == reshape(label, [-1, 1]), "float32")
        places = np.argsort(-np.asarray(pred), kind="stable")[..., : self.maxk]
        label = np.asarray(label)
        if label.ndim == places.ndim and label.shape[-1] != 1:  # one-hot
            label = label.argmax(-1)
        return (places == label.reshape(*places.shape[:-1], 1)).astype("float32")

    def update(self, correct, *args):
        """Take in what ``compute`` gave; returns the shares of this batch."""
        correct = np.asarray(correct)
        rows = int(np.prod(correct.shape[:-1]))
        hits = [float(correct[..., :k].sum()) for k in self.topk]
        for i, hit in enumerate(hits):
            self.total[i] += hit
            self.count[i] += rows
        return self._shares(hits, [rows] * len(hits))

    @staticmethod
    def _shares(hits, counts):
        shares = [share(hit, rows) for hit, rows in zip(hits, counts)]
        return shares[0] if len(shares) == 1 else shares

    def reset(self):
        """Forget all batches."""
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self):
        """The shares of all batches together."""
        return self._shares(self.total, self.count)


class _Counts(_Named):
    """Of probabilities for one class: above a half means yes."""

    def __init__(self, name):
        self._name = name
        self.reset()

    def update(self, preds, labels):
        """Take in a batch: probabilities, and labels of 0 and 1."""
        said = np.floor(np.asarray(preds).reshape(-1) + 0.5).astype("int64") == 1
        true = np.asarray(labels).reshape(-1) == 1
        self.tp += int((said & true).sum())
        self.fp += int((said & ~true).sum())
        self.fn += int((~said & true).sum())

    def reset(self):
        """Forget all batches."""
        self.tp = self.fp = self.fn = 0


class Precision(_Counts):
    """The share of true positives among the predicted positives."""

    def __init__(self, name="precision", *args, **kwargs):
        super().__init__(name)

    def accumulate(self):
        """The precision of all batches together."""
        return share(self.tp, self.tp + self.fp)


class Recall(_Counts):
    """The share of the positives that were predicted."""

    def __init__(self, name="recall", *args, **kwargs):
        super().__init__(name)

    def accumulate(self):
        """The recall of all batches together."""
        return share(self.tp, self.tp + self.fn)


class Auc(_Named):
    """The area under the curve of hits against false alarms, by ``num_thresholds`` steps."""

    def __init__(self, curve="ROC", num_thresholds=4095, name="auc", *args, **kwargs):
        if curve != "ROC":
            raise ValueError(f"the curve must be ROC, but is {curve!r}")
        self._num_thresholds, self._name = num_thresholds, name
        self.reset()

    def update(self, preds, labels):
        """Take in a batch: probabilities in column 1, and labels of 0 and 1."""
        preds, labels = np.asarray(preds), np.asarray(labels).reshape(-1) == 1
        chance = preds[:, 1] if preds.ndim > 1 and preds.shape[1] > 1 else preds.reshape(-1)
        places = (chance * self._num_thresholds).astype("int64")
        steps = self._num_thresholds + 1
        self._pos += np.bincount(places[labels], minlength=steps)
        self._neg += np.bincount(places[~labels], minlength=steps)

    def reset(self):
        """Forget all batches."""
        self._pos = np.zeros(self._num_thresholds + 1, "int64")
        self._neg = np.zeros(self._num_thresholds + 1, "int64")

    def accumulate(self):
        """The area of all batches together; 0 where one class is missing."""
        return area(self._pos, self._neg, otherwise=0.0)
