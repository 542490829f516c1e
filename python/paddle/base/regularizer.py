"""Regularizers: what keeps parameters small."""

import _flotilla as core


class WeightDecayRegularizer(core.Regularizer):
    """Adds the gradient of a penalty to the gradient of a parameter."""

    def __init__(self, kind, coeff):
        super().__init__(kind, coeff)
        self._kind = kind

    def __repr__(self):
        return f"{type(self).__name__}({self.coeff:g})"


class L1Decay(WeightDecayRegularizer):
    """The penalty ``coeff * sum(|w|)``."""

    def __init__(self, coeff=0.0):
        super().__init__("l1", coeff)


class L2Decay(WeightDecayRegularizer):
    """The penalty ``coeff / 2 * sum(w * w)``."""

    def __init__(self, coeff=0.0):
        super().__init__("l2", coeff)


class L1DecayRegularizer(L1Decay):
    """L1Decay in the API of 1.x."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)


class L2DecayRegularizer(L2Decay):
    """L2Decay in the API of 1.x."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)
