"""Activations as layers."""

from paddle.nn import functional as F
from paddle.nn.initializer import Constant

from .layers import Layer
from .of_function import layer_of

__all__ = [
    *("CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh"),
    *("LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SELU"),
    *("Sigmoid", "Silu", "Softmax", "Softplus", "Softshrink", "Softsign", "Swish", "Tanh"),
    *("Maxout", "Softmax2D", "Tanhshrink", "ThresholdedReLU"),
]

CELU = layer_of("CELU", F.celu, __name__)
ELU = layer_of("ELU", F.elu, __name__)
GELU = layer_of("GELU", F.gelu, __name__)
GLU = layer_of("GLU", F.glu, __name__)
Hardshrink = layer_of("Hardshrink", F.hardshrink, __name__)
Hardsigmoid = layer_of("Hardsigmoid", F.hardsigmoid, __name__, without=["slope", "offset"])
Hardswish = layer_of("Hardswish", F.hardswish, __name__)
Hardtanh = layer_of("Hardtanh", F.hardtanh, __name__)
LeakyReLU = layer_of("LeakyReLU", F.leaky_relu, __name__)
LogSigmoid = layer_of("LogSigmoid", F.log_sigmoid, __name__)
LogSoftmax = layer_of("LogSoftmax", F.log_softmax, __name__, without=["dtype"])
Maxout = layer_of("Maxout", F.maxout, __name__)
Mish = layer_of("Mish", F.mish, __name__)
ReLU = layer_of("ReLU", F.relu, __name__)
ReLU6 = layer_of("ReLU6", F.relu6, __name__)
SELU = layer_of("SELU", F.selu, __name__)
Sigmoid = layer_of("Sigmoid", F.sigmoid, __name__)
Silu = layer_of("Silu", F.silu, __name__)
Softmax = layer_of("Softmax", F.softmax, __name__, without=["dtype"])
Softplus = layer_of("Softplus", F.softplus, __name__)
Softshrink = layer_of("Softshrink", F.softshrink, __name__)
Softsign = layer_of("Softsign", F.softsign, __name__)
Swish = layer_of("Swish", F.swish, __name__)
Tanh = layer_of("Tanh", F.tanh, __name__)
Tanhshrink = layer_of("Tanhshrink", F.tanhshrink, __name__)
ThresholdedReLU = layer_of("ThresholdedReLU", F.thresholded_relu, __name__)


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


class Softmax2D(Layer):
    """Softmax over the channels of images."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        """The probabilities of channels, place by place."""
        return F.softmax(x, axis=-3, name=self._name)
