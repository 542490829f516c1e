"""Regularizers: what keeps parameters small."""

from paddle._names import names_of
from paddle.base.regularizer import L1Decay, L2Decay, WeightDecayRegularizer  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
