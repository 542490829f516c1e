"""Distributions in the API of 1.x."""

import math

from paddle import distribution as _new
from paddle import tensor
from paddle._words import writes_v1

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]


class Normal(_new.Normal):
    """The normal distribution with a mean ``loc`` and a standard deviation ``scale``."""

    _dtypes = ("float32",)

    def __init__(self, loc, scale):
        super().__init__(loc, scale)


class Uniform(_new.Uniform):
    """Numbers spread evenly over [low, high)."""

    _dtypes = ("float32",)

    def __init__(self, low, high):
        super().__init__(low, high)


class Categorical(_new.Categorical):
    """Places of the last axis of ``logits``, whose softmax are their probabilities."""

    _dtypes, _keepdim = ("float32",), True

    def __init__(self, logits):
        super().__init__(logits)

    def _only(self, *args, **kwargs):
        """Refused: 1.x knows their entropy and divergence only."""
        raise NotImplementedError(
            "fluid.layers.Categorical has entropy and kl_divergence only; "
            "paddle.distribution.Categorical has the rest"
        )

    sample = log_prob = probs = _only


class MultivariateNormalDiag(_new.Distribution):
    """Normal numbers with the means ``loc`` and the covariance ``scale``, a diagonal matrix."""

    _dtypes = ("float32",)

    def __init__(self, loc, scale):
        (self.loc,) = self._variables(loc=loc)
        (self.scale,) = self._variables(scale=scale)
        super().__init__(self.loc.shape)

    def _variances(self):
        return tensor.diagonal(self.scale)

    def entropy(self):
        """0.5 * log(det(2 * pi * e * scale))."""
        extent = self.scale.shape[0]
        logs = tensor.log(tensor.prod(self._variances()))
        return (logs + extent * (1.0 + math.log(2 * math.pi))) * 0.5

    def kl_divergence(self, other):
        """How far another such distribution lies from this one."""
        self._same_kind(other)
        mine, theirs, away = self._variances(), other._variances(), other.loc - self.loc
        sums = tensor.sum(mine / theirs) + tensor.sum(away * away / theirs)
        logs = tensor.log(tensor.prod(theirs)) - tensor.log(tensor.prod(mine))
        return (sums - float(self.scale.shape[0]) + logs) * 0.5


for _kind in (Normal, Uniform, Categorical, MultivariateNormalDiag):
    for _word in ("sample", "entropy", "log_prob", "kl_divergence"):
        setattr(_kind, _word, writes_v1(getattr(_kind, _word)))
