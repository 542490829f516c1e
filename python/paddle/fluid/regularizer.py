"""Regularizers: what keeps parameters small."""

from paddle._names import names_of
from paddle.base.regularizer import (  # noqa: F401
    L1Decay,
    L1DecayRegularizer,
    L2Decay,
    L2DecayRegularizer,
    WeightDecayRegularizer,
)

__getattr__, __dir__ = names_of(__name__)
