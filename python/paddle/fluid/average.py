"""A weighted mean, kept in Python."""

import numbers

import numpy as np
from paddle._words import of_kind
from paddle.base.executor import as_scalar

__all__ = ["WeightedAverage"]


class WeightedAverage:
    """The mean of what was added, each with its weight."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget everything."""
        self.numerator = self.denominator = None

    def add(self, value, weight):
        """Take a number or an array into the mean."""
        said = "value must be a number or a numpy array, but is a"
        of_kind(value, (numbers.Number, np.ndarray), said, ValueError)
        if np.shape(weight) != (1,):
            of_kind(weight, numbers.Number, "weight must be a number, but is a", ValueError)
        self.numerator = value * weight + (0 if self.numerator is None else self.numerator)
        self.denominator = weight + (0 if self.denominator is None else self.denominator)

    def eval(self):
        """The mean."""
        if self.denominator is None:
            raise ValueError("WeightedAverage.eval(): nothing was added")
        return as_scalar(self.numerator / self.denominator)
