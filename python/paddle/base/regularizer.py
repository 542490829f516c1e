"""Regularizers: what keeps parameters small."""

import _flotilla as core
from paddle._rows import rows


class WeightDecayRegularizer(core.Regularizer):
    """Adds the gradient of a penalty to the gradient of a parameter."""

    def __init__(self, kind, coeff):
        super().__init__(kind, coeff)
        self._kind = kind

    def __repr__(self):
        return f"{type(self).__name__}({self.coeff:g})"


rows(globals())
