"""Activations as layers."""

from paddle.nn import functional as F
from paddle.nn.initializer import Constant

from .layers import Layer

__all__ = [
    *("CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh"),
    *("LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SELU"),
    *("Sigmoid", "Silu", "Softmax", "Softplus", "Softshrink", "Softsign", "Swish", "Tanh"),
    *("Tanhshrink", "ThresholdedReLU"),
]


class _Activation(Layer):
    """A function of one input with its other arguments."""

    def __init__(self, name=None, **arguments):
        super().__init__()
        self._arguments, self._name = arguments, name

    def forward(self, x):
        """The function of ``x``."""
        return self._function(x, **self._arguments, name=self._name)

    def extra_repr(self):
        """The arguments."""
        return ", ".join(f"{word}={value}" for word, value in self._arguments.items())


def _plain(word, function):
    """The layer ``word(name=None)`` of a function without other arguments."""

    def __init__(self, name=None):
        _Activation.__init__(self, name)

    made = {"__init__": __init__, "__doc__": function.__doc__, "__module__": __name__}
    return type(word, (_Activation,), {**made, "_function": staticmethod(function)})


Hardsigmoid = _plain("Hardsigmoid", F.hardsigmoid)
Hardswish = _plain("Hardswish", F.hardswish)
LogSigmoid = _plain("LogSigmoid", F.log_sigmoid)
Mish = _plain("Mish", F.mish)
ReLU = _plain("ReLU", F.relu)
ReLU6 = _plain("ReLU6", F.relu6)
Sigmoid = _plain("Sigmoid", F.sigmoid)
Silu = _plain("Silu", F.silu)
Softsign = _plain("Softsign", F.softsign)
Swish = _plain("Swish", F.swish)
Tanh = _plain("Tanh", F.tanh)
Tanhshrink = _plain("Tanhshrink", F.tanhshrink)


class CELU(_Activation):
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))."""

    _function = staticmethod(F.celu)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name, alpha=alpha)


class ELU(_Activation):
    """x above zero, alpha * (exp(x) - 1) below."""

    _function = staticmethod(F.elu)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name, alpha=alpha)


class GELU(_Activation):
    """x times the normal distribution function of x, or its approximation by tanh."""

    _function = staticmethod(F.gelu)

    def __init__(self, approximate=False, name=None):
        super().__init__(name, approximate=approximate)


class GLU(_Activation):
    """The first half along ``axis`` times the sigmoid of the second."""

    _function = staticmethod(F.glu)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class Hardshrink(_Activation):
    """x where |x| > threshold, 0 elsewhere."""

    _function = staticmethod(F.hardshrink)

    def __init__(self, threshold=0.5, name=None):
        super().__init__(name, threshold=threshold)


class Hardtanh(_Activation):
    """x between ``min`` and ``max``."""

    _function = staticmethod(F.hardtanh)

    def __init__(self, min=-1.0, max=1.0, name=None):
        super().__init__(name, min=min, max=max)


class LeakyReLU(_Activation):
    """x above zero, negative_slope * x below."""

    _function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__(name, negative_slope=negative_slope)


class LogSoftmax(_Activation):
    """The logarithm of softmax."""

    _function = staticmethod(F.log_softmax)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class PReLU(Layer):
    """x above zero, weight * x below; one weight for all, or one for each channel."""

    def __init__(
        self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None
    ):
        super().__init__()
        self._data_format, self._name = data_format, name
        start = Constant(float(init))
        self.weight = self.create_parameter(
            [num_parameters], weight_attr, default_initializer=start
        )

    def forward(self, x):
        """The function of ``x``."""
        return F.prelu(x, self.weight, self._data_format, self._name)


class SELU(_Activation):
    """scale * elu(x, alpha)."""

    _function = staticmethod(F.selu)

    def __init__(
        self,
        scale=1.0507009873554804934193349852946,
        alpha=1.6732632423543772848170429916717,
        name=None,
    ):
        super().__init__(name, scale=scale, alpha=alpha)


class Softmax(_Activation):
    """Slices along ``axis`` scaled to positive numbers whose sum is one."""

    _function = staticmethod(F.softmax)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""

    _function = staticmethod(F.softplus)

    def __init__(self, beta=1, threshold=20, name=None):
        super().__init__(name, beta=beta, threshold=threshold)


class Softshrink(_Activation):
    """x moved towards zero by the threshold."""

    _function = staticmethod(F.softshrink)

    def __init__(self, threshold=0.5, name=None):
        super().__init__(name, threshold=threshold)


class ThresholdedReLU(_Activation):
    """x above the threshold, 0 elsewhere."""

    _function = staticmethod(F.thresholded_relu)

    def __init__(self, threshold=1.0, name=None):
        super().__init__(name, threshold=threshold)
