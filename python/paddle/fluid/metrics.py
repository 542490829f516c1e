"""Metrics that are put together outside of a program, batch by batch."""

from paddle._names import names_of


class MetricBase:
    """A metric with ``reset``, ``update`` and ``eval``."""

    def __init__(self, name=None):
        self._name = name or type(self).__name__

    def __str__(self):
        return self._name


class Accuracy(MetricBase):
    """The mean of accuracies, each weighted by the number of its samples."""

    def __init__(self, name=None):
        super().__init__(name)
        self.reset()

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
        return self.value / self.weight


__getattr__, __dir__ = names_of(__name__)
