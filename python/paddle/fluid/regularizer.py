"""Regularizers: what keeps parameters small."""

from paddle._names import names_of
from paddle.base.regularizer import (  # noqa: F401
    L1DecayRegularizer,
    L2DecayRegularizer,
    WeightDecayRegularizer,
)

L1Decay, L2Decay = L1DecayRegularizer, L2DecayRegularizer

__getattr__, __dir__ = names_of(__name__)
