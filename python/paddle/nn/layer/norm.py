"""Normalisations."""

import math

import _flotilla as core
from paddle._rows import rows
from paddle._words import several
from paddle.base.param_attr import ParamAttr
from paddle.nn import functional as F
from paddle.nn.initializer import Constant

from .layers import Layer


class _Statistics(Layer):
    """A scale and a bias to learn, and a running mean and variance."""

    def __init__(self, channels, scale, bias, names=(None, None), average=True, dtype="float32"):
        super().__init__(dtype=dtype)
        self._num_features, self._bias_attr = channels, bias
        self._weight_attr = self._param_attr = scale
        self.weight = self._learnt(channels, scale, 1.0, False)
        self.bias = self._learnt(channels, bias, 0.0, True)
        self._mean = self._running(channels, names[0], 0.0, average)
        self._variance = self._running(channels, names[1], 1.0, average)

    def _learnt(self, channels, attr, value, is_bias):
        """False makes a parameter that stays as it is."""
        fixed = attr is False
        attr = ParamAttr(trainable=False) if fixed else attr
        made = self.create_parameter([channels], attr, None, is_bias, Constant(value))
        made.stop_gradient = made.stop_gradient or fixed
        return made

    def _running(self, channels, name, value, average):
        attr = ParamAttr(name, Constant(value), trainable=False, do_model_average=average)
        made = self.create_parameter([channels], attr)
        made.stop_gradient = True
        return made

    def __getattr__(self, name):
        """The arguments, with a line in front."""
        kept = {**vars(self).get("_attrs", {}), **vars(self).get("_rest", {})}
        return kept[name[1:]] if name[1:] in kept else super().__getattr__(name)

    def _channels(self):
        """What the op reads of channels, and moves."""
        return self._mean, self._variance, self.weight, self.bias

    def _keep(self, momentum, epsilon, **attrs):
        self._attrs = {"momentum": float(momentum), "epsilon": float(epsilon), **attrs}


class _BatchNorm(_Statistics):
    def __init__(self, num_features, weight_attr, bias_attr, **rest):
        super().__init__(num_features, weight_attr, bias_attr)
        self._rest = rest

    def forward(self, input):
        """``input`` with channels of mean 0 and variance 1, scaled and moved."""
        return F.batch_norm(input, *self._channels(), self.training, **self._rest)

    def extra_repr(self):
        """The number of channels."""
        rest = "momentum={momentum}, epsilon={epsilon}".format(**self._rest)
        return f"num_features={self._num_features}, {rest}"


class _SyncBatchNorm(_Statistics):
    def __init__(self, num_features, weight_attr, bias_attr, momentum, epsilon, data_format):
        super().__init__(num_features, weight_attr, bias_attr)
        self._keep(momentum, epsilon, data_layout=data_format)

    def forward(self, x):
        """``x`` with channels of mean 0 and variance 1, scaled and moved."""
        attrs = {**self._attrs, "is_test": not self.training, "use_global_stats": False}
        outs = ["SavedMean", "SavedVariance", "Y"]
        return core.batch_norm_with(x, *self._channels(), attrs, outs, type="sync_batch_norm")

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """The layer with SyncBatchNorm in the place of every BatchNorm1D, 2D and 3D inside."""
        if isinstance(layer, _BatchNorm):
            return cls._with_parameters_of(layer, **layer._rest)
        for name, inside in list(layer.named_children()):
            layer.add_sublayer(name, cls.convert_sync_batchnorm(inside))
        return layer

    @classmethod
    def _with_parameters_of(cls, layer, momentum, epsilon, data_format, **_):
        made = cls.__new__(cls)
        Layer.__init__(made)
        kept = ("_num_features", "_weight_attr", "_param_attr", "_bias_attr")
        for name in ("weight", "bias", "_mean", "_variance", *kept):
            setattr(made, name, getattr(layer, name))
        made._keep(momentum, epsilon, data_layout="NHWC" if data_format[-1] == "C" else "NCHW")
        made.training = layer.training
        return made


class _BatchNormOf1x(_Statistics):
    def __init__(
        self, channels, scale, bias, mean, variance, average, dtype, act, is_test, **attrs
    ):
        super().__init__(channels, scale, bias, (mean, variance), average, dtype)
        self._act, self._is_test = act, is_test
        self._keep(**attrs)

    def forward(self, input):
        """``input`` with channels of mean 0 and variance 1, scaled and moved."""
        attrs = {**self._attrs, "is_test": self._is_test or not self.training}
        outs = ["SavedMean", "SavedVariance", "ReserveSpace", "Y"]
        channels, name = self._channels(), self._full_name
        return core.batch_norm_with(input, *channels, attrs, outs, name, self._act)


class LayerNorm(Layer):
    """The last axes scaled to mean 0 and variance 1, then by learnt numbers."""

    def __init__(
        self, normalized_shape, epsilon=1e-05, weight_attr=None, bias_attr=None, name=None
    ):
        super().__init__()
        self._normalized_shape, self._epsilon = several(normalized_shape), epsilon
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        extents = [math.prod(self._normalized_shape)]
        self.weight = self.create_parameter(extents, weight_attr, None, False, Constant(1.0))
        self.bias = self.create_parameter(extents, bias_attr, is_bias=True)

    def forward(self, input):
        """``input`` with rows of mean 0 and variance 1, scaled and moved."""
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self):
        """The axes."""
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    def __init__(self, num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name):
        super().__init__()
        self._num_features, self._epsilon, self._name = num_features, epsilon, name
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self._momentum, self._data_format = momentum, data_format  # of no use to the op
        self.scale = self.bias = None
        if weight_attr is not False and bias_attr is not False:
            shape = [num_features]
            self.scale = self.create_parameter(shape, weight_attr, None, False, Constant(1.0))
            self.bias = self.create_parameter(shape, bias_attr, is_bias=True)

    def forward(self, input):
        """``input`` with channels of mean 0 and variance 1, scaled and moved."""
        learnt = {"weight": self.scale, "bias": self.bias}
        return F.instance_norm(input, **learnt, eps=self._epsilon, name=self._name)

    def extra_repr(self):
        """The number of channels."""
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


__all__ = [*rows(globals()), "LayerNorm"]
