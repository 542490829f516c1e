"""Metrics that are put together outside of a program, batch by batch, in the API of 1.x."""

import numpy as np

from paddle import metric as _new
from paddle._rows import rows
from paddle.base.executor import as_scalar
from paddle.metric.metrics import share


class MetricBase:
    """A metric with ``reset``, ``update`` and ``eval``."""

    def __init__(self, name=None):
        self._name = name or type(self).__name__

    def __str__(self):
        return self._name

    def reset(self):
        """Forget all batches."""
        raise NotImplementedError(f"{type(self).__name__} has no reset()")

    def update(self, preds, labels):
        """Take in a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no update()")

    def eval(self):
        """The metric of all batches together."""
        raise NotImplementedError(f"{type(self).__name__} has no eval()")

    def get_config(self):
        """The name and the counts, as a dict."""
        state = {word: value for word, value in vars(self).items() if not word.startswith("_")}
        return {"name": self._name, "states": state}


class _Counts(MetricBase):
    """Counts that begin at nothing."""

    def __init__(self, name=None):
        super().__init__(name)
        self.reset()


class Accuracy(_Counts):
    """The mean of accuracies, each weighted by the number of its samples."""

    def reset(self):
        """Forget all batches."""
        self.value = 0.0
        self.weight = 0.0

    def update(self, value, weight):
        """Take in a batch: its accuracy and the number of its samples."""
        if weight < 0:
            raise ValueError(f"the weight of a batch must not be negative, but is {weight}")
        self.value += value * weight
        self.weight += weight

    def eval(self):
        """The accuracy of all batches together."""
        if self.weight == 0:
            raise ValueError("there is no accuracy yet: update() was never called with samples")
        return as_scalar(self.value / self.weight)


class CompositeMetric(MetricBase):
    """Several metrics of the same predictions."""

    def __init__(self, name=None):
        super().__init__(name)
        self._metrics = []

    def add_metric(self, metric):
        """Add a metric."""
        if not isinstance(metric, MetricBase):
            raise TypeError(f"a metric is expected, but {metric!r} was given")
        self._metrics.append(metric)

    def reset(self):
        """Forget all batches."""
        for metric in self._metrics:
            metric.reset()

    def update(self, preds, labels):
        """Take in a batch."""
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self):
        """The metrics of all batches together, in the order they were added."""
        return [metric.eval() for metric in self._metrics]


class _Wrapped(MetricBase):
    """A metric of ``paddle.metric``."""

    def __init__(self, name, kind, **words):
        super().__init__(name)
        self._metric = getattr(_new, kind)(**words)

    def reset(self):
        """Forget all batches."""
        self._metric.reset()

    def update(self, preds, labels):
        """Take in a batch: probabilities, and labels of 0 and 1."""
        self._metric.update(preds, labels)

    def eval(self):
        """The metric of all batches together."""
        return self._metric.accumulate()


rows(globals())


def chunk_scores(found, labelled, right):
    """(precision, recall, F1), from the numbers of chunks."""
    precision, recall = share(right, found), share(right, labelled)
    return precision, recall, share(2 * precision * recall, precision + recall)


class ChunkEvaluator(_Counts):
    """Precision, recall and F1 of chunks, from the counts of batches."""

    def reset(self):
        """Forget all batches."""
        self.num_infer_chunks = self.num_label_chunks = self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks):
        """Add a batch: how many chunks were inferred, are labelled, and were inferred correctly."""
        self.num_infer_chunks += int(np.sum(num_infer_chunks))
        self.num_label_chunks += int(np.sum(num_label_chunks))
        self.num_correct_chunks += int(np.sum(num_correct_chunks))

    def eval(self):
        """(precision, recall, F1) of all batches together."""
        counts = (self.num_infer_chunks, self.num_label_chunks, self.num_correct_chunks)
        return chunk_scores(*counts)


class EditDistance(_Counts):
    """The mean distance of sequences, and the share of those that are not alike."""

    def reset(self):
        """Forget all batches."""
        self.total_distance, self.seq_num, self.instance_error = 0.0, 0, 0

    def update(self, distances, seq_num):
        """Take in a batch: the distances, and the number of sequences."""
        self.total_distance += float(np.sum(distances))
        self.instance_error += int(np.sum(np.asarray(distances) != 0))
        self.seq_num += int(np.sum(seq_num))

    def eval(self):
        """(mean distance, share of sequences with one) of all batches together."""
        if self.seq_num == 0:
            raise ValueError("there is no distance yet: update() was never called with sequences")
        distance, wrong = self.total_distance / self.seq_num, self.instance_error / self.seq_num
        return as_scalar(distance), as_scalar(wrong)
