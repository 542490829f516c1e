"""The distributions, as sums and products of variables. Those of 1.x differ in little; see
paddle/fluid/layers/distributions.py."""

import math

import numpy as np

from paddle import tensor
from paddle._words import several
from paddle.base.framework import Variable

_KINDS = (int, float, list, tuple, np.ndarray)


def _known_extents(shape, like):
    """``shape`` and behind it that of a variable, extents unknown before the program runs as variables."""
    extents = enumerate(like.shape)
    return [*several(shape), *(tensor.shape(like)[i] if n < 0 else n for i, n in extents)]


class Distribution:
    """What every distribution has; a class below it says what of this it can do."""

    def __init__(self, batch_shape=(), event_shape=()):
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)

    batch_shape = property(lambda self: self._batch_shape, doc="The shape of all parameters.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of what is drawn once.")

    def _lacks(self, word):
        return NotImplementedError(f"the distribution {type(self).__name__} has no {word}")

    @property
    def mean(self):
        """The mean."""
        raise self._lacks("mean")

    @property
    def variance(self):
        """The variance."""
        raise self._lacks("variance")

    def sample(self, shape=()):
        """Random numbers: ``shape`` of them for each element."""
        raise self._lacks("sample")

    def rsample(self, shape=()):
        """Random numbers through which gradients go."""
        raise self._lacks("rsample")

    def entropy(self):
        """How uncertain it is what is drawn."""
        raise self._lacks("entropy")

    def kl_divergence(self, other):
        """How far another distribution of the same kind lies from this one."""
        raise self._lacks(f"kl_divergence from {type(other).__name__}")

    def log_prob(self, value):
        """The logarithm of the probability, or of its density."""
        raise self._lacks("log_prob")

    def prob(self, value):
        """The probability, or its density."""
        return tensor.exp(self.log_prob(value))

    def probs(self, value):
        """The probability, or its density."""
        raise self._lacks("probs")

    # ---- arguments

    _dtypes = ("float32", "float64")  # of arrays; all other numbers become the first

    def _variables(self, **values):
        """Variables of one shape for numbers and arrays; variables themselves stay as they are."""
        found = {isinstance(value, Variable) for value in values.values()}
        for word, value in values.items():
            if not isinstance(value, (*_KINDS, Variable)):
                kind = type(value).__name__
                raise TypeError(f"{word} must be a number, an array or a variable, but is a {kind}")
        if len(found) > 1:
            raise ValueError(
                f"{' and '.join(values)} must all be variables where one is, but one is a number"
            )
        self._numbers = all(isinstance(value, (int, float)) for value in values.values())
        if True in found:
            return list(values.values())
        arrays = [value.dtype.name for value in values.values() if isinstance(value, np.ndarray)]
        dtype = next((one for one in arrays if one in self._dtypes), "float32")
        shaped = np.broadcast_arrays(*(np.atleast_1d(value) for value in values.values()))
        return [tensor.assign(one.astype(dtype)) for one in shaped]

    def _same_kind(self, other):
        if not isinstance(other, type(self)):
            mine, theirs = type(self).__name__, type(other).__name__
            raise TypeError(
                f"kl_divergence compares a {mine} with a {mine}, but other is a {theirs}"
            )

    def _value(self, value, like):
        if not isinstance(value, Variable) or "float" not in value.dtype.name:
            raise TypeError(f"value must be a variable of floating-point numbers, but is {value!r}")
        return value if value.dtype == like.dtype else tensor.cast(value, like.dtype)

    def _moved(self, noise, scale, loc, shape):
        """Random numbers made wide and moved; where all parameters were numbers, of that shape."""
        made = noise * scale + loc
        return tensor.reshape(made, several(shape)) if self._numbers and several(shape) else made


class Normal(Distribution):
    """The normal distribution with a mean ``loc`` and a standard deviation ``scale``.

    >>> paddle.distribution.Normal(0.0, 1.0).sample([2, 3])
    """

    def __init__(self, loc, scale, name=None):
        self.loc, self.scale = self._variables(loc=loc, scale=scale)
        self.name, self.dtype = name or "Normal", self.loc.dtype
        super().__init__(self.loc.shape)

    mean = property(lambda self: self.loc, doc="The mean.")
    variance = property(lambda self: self.scale * self.scale, doc="The variance.")

    def sample(self, shape=(), seed=0):
        """Random numbers: ``shape`` of them for each element."""
        extents = _known_extents(shape, self.loc + self.scale)
        noise = tensor.gaussian(extents, 0.0, 1.0, seed, self.dtype)
        return self._moved(noise, self.scale, self.loc, shape)

    def rsample(self, shape=()):
        """Random numbers through which gradients go to the parameters."""
        return self.sample(shape)

    def entropy(self):
        """0.5 * log(2 * pi * e * scale^2)."""
        scale = self.scale + tensor.zeros_like(self.loc + self.scale)
        return tensor.log(scale) + (0.5 + 0.5 * math.log(2 * math.pi))

    def log_prob(self, value):
        """The logarithm of the density at ``value``."""
        away = self._value(value, self.loc) - self.loc
        exponent = (away * away) * -1.0 / (self.scale * self.scale * 2.0)
        return exponent - (tensor.log(self.scale) + math.log(math.sqrt(2 * math.pi)))

    def probs(self, value):
        """The density at ``value``."""
        return tensor.exp(self.log_prob(value))

    def kl_divergence(self, other):
        """How far another normal distribution lies from this one."""
        self._same_kind(other)
        ratio, away = self.scale / other.scale, (self.loc - other.loc) / other.scale
        square = ratio * ratio
        return (square + away * away - 1.0 - tensor.log(square)) * 0.5


class Uniform(Distribution):
    """Numbers spread evenly over [low, high).

    >>> paddle.distribution.Uniform(0.0, 2.0).entropy()
    """

    def __init__(self, low, high, name=None):
        self.low, self.high = self._variables(low=low, high=high)
        self.name, self.dtype = name or "Uniform", self.low.dtype
        super().__init__(self.low.shape)

    def sample(self, shape, seed=0):
        """Random numbers: ``shape`` of them for each element."""
        extents = _known_extents(shape, self.low + self.high)
        noise = tensor.uniform(extents, self.dtype, 0.0, 1.0, seed)
        return self._moved(noise, self.high - self.low, self.low, shape)

    def _inside(self, value):
        value = self._value(value, self.low)
        bounds = tensor.logical_and(self.low < value, value < self.high)
        return tensor.cast(bounds, value.dtype)

    def log_prob(self, value):
        """The logarithm of the density at ``value``: that of 0 outside."""
        return tensor.log(self._inside(value)) - tensor.log(self.high - self.low)

    def probs(self, value):
        """The density at ``value``: 0 outside."""
        return self._inside(value) / (self.high - self.low)

    def entropy(self):
        """log(high - low)."""
        return tensor.log(self.high - self.low)


class Categorical(Distribution):
    """Places 0, 1, ... of the last axis of ``logits``.

    As in Paddle, ``sample``, ``entropy`` and ``kl_divergence`` take their softmax for the
    probabilities, ``probs`` and ``log_prob`` their shares of the sum.
    """

    _keepdim = False  # of the entropy, as 1.x has it

    def __init__(self, logits, name=None):
        (self.logits,) = self._variables(logits=logits)
        self.name, self.dtype = name or "Categorical", self.logits.dtype
        super().__init__(self.logits.shape[:-1])

    def _log_softmax(self):
        away = self.logits - tensor.max(self.logits, axis=-1, keepdim=True)
        return away - tensor.log(tensor.sum(tensor.exp(away), axis=-1, keepdim=True))

    def sample(self, shape):
        """Random places: ``shape`` of them for each row."""
        rows, count = list(self.logits.shape[:-1]), int(np.prod(shape))
        logs = self._log_softmax()
        flat = tensor.reshape(logs, [-1, self.logits.shape[-1]]) if rows else logs
        drawn = tensor.multinomial(tensor.exp(flat), count, True)
        if rows:
            drawn = tensor.transpose(drawn, [1, 0])
        return tensor.reshape(drawn, [*several(shape), *rows])

    def entropy(self):
        """-sum(p * log(p)) of each row."""
        logs = self._log_softmax()
        return tensor.sum(tensor.exp(logs) * logs, axis=-1, keepdim=self._keepdim) * -1.0

    def kl_divergence(self, other):
        """How far another such distribution lies from this one."""
        self._same_kind(other)
        mine, theirs = self._log_softmax(), other._log_softmax()
        return tensor.sum(tensor.exp(mine) * (mine - theirs), axis=-1, keepdim=True)

    def probs(self, value):
        """The shares of the places ``value`` in the sums of their rows."""
        shares = self.logits / tensor.sum(self.logits, axis=-1, keepdim=True)
        if len(shares.shape) == 1:
            taken = tensor.gather(shares, tensor.reshape(value, [-1]))
            return tensor.reshape(taken, list(value.shape))
        if len(value.shape) == 1:
            value = tensor.reshape(value, [1] * (len(shares.shape) - 1) + [-1])
        return tensor.take_along_axis(shares, value, axis=-1)

    def log_prob(self, value):
        """The logarithms of ``probs``."""
        return tensor.log(self.probs(value))
