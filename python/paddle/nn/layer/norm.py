"""Normalisations."""

import _flotilla as core
from paddle._words import made_class, several
from paddle.base.param_attr import ParamAttr
from paddle.nn import functional as F
from paddle.nn.initializer import Constant

from .layers import Layer

__all__ = [
    *("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "GroupNorm", "InstanceNorm1D"),
    *("InstanceNorm2D", "InstanceNorm3D", "LayerNorm", "SyncBatchNorm"),
]


class _Statistics(Layer):
    """A scale and a bias to learn, and a running mean and variance."""

    def _make(self, channels, scale, bias, mean_name=None, variance_name=None, average=True):
        self.weight = self._learnt(channels, scale, 1.0, False)
        self.bias = self._learnt(channels, bias, 0.0, True)
        self._mean = self._running(channels, mean_name, 0.0, average)
        self._variance = self._running(channels, variance_name, 1.0, average)

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


class _BatchNorm(_Statistics):
    def _set(self, num_features, weight_attr, bias_attr, **rest):
        Layer.__init__(self)
        self._make(num_features, weight_attr, bias_attr)
        self._num_features, self._rest = num_features, rest

    def forward(self, input):
        """``input`` with channels of mean 0 and variance 1, scaled and moved."""
        learnt = (self._mean, self._variance, self.weight, self.bias)
        return F.batch_norm(input, *learnt, self.training, **self._rest)

    def _as_sync(self):
        """A SyncBatchNorm with these parameters."""
        made = SyncBatchNorm.__new__(SyncBatchNorm)
        Layer.__init__(made)
        for name in ("weight", "bias", "_mean", "_variance"):
            setattr(made, name, getattr(self, name))
        made._attrs = {"momentum": self._rest["momentum"], "epsilon": self._rest["epsilon"]}
        made._attrs["data_layout"] = "NHWC" if self._rest["data_format"][-1] == "C" else "NCHW"
        made.training = self.training
        return made

    def extra_repr(self):
        """The number of channels."""
        rest = "momentum={momentum}, epsilon={epsilon}".format(**self._rest)
        return f"num_features={self._num_features}, {rest}"


def _over(word, what, data_format):
    """The layers of 2.x differ in what their channels are made of."""
    signature = (
        "num_features, momentum=0.9, epsilon=1e-05, weight_attr=None, bias_attr=None, "
        f"data_format={data_format!r}, use_global_stats=None, name=None"
    )
    doc = f"Channels of {what} scaled to mean 0 and variance 1 over the batch."
    return made_class(word, _BatchNorm, signature, _BatchNorm._set, doc, __name__)


BatchNorm1D = _over("BatchNorm1D", "rows or sequences", "NCL")
BatchNorm2D = _over("BatchNorm2D", "images", "NCHW")
BatchNorm3D = _over("BatchNorm3D", "volumes", "NCDHW")


class SyncBatchNorm(_Statistics):
    """Channels scaled to mean 0 and variance 1 over the batches of all processes."""

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        self._make(num_features, weight_attr, bias_attr)
        self._attrs = {"momentum": float(momentum), "epsilon": float(epsilon)}
        self._attrs["data_layout"] = data_format

    def forward(self, x):
        """``x`` with channels of mean 0 and variance 1, scaled and moved."""
        attrs = {**self._attrs, "is_test": not self.training, "use_global_stats": False}
        learnt = (self._mean, self._variance, self.weight, self.bias)
        outs = ["SavedMean", "SavedVariance", "Y"]
        return core.batch_norm_with(x, *learnt, attrs, outs, type="sync_batch_norm")

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """The layer with SyncBatchNorm in the place of every BatchNorm1D, 2D and 3D inside."""
        if isinstance(layer, _BatchNorm):
            return layer._as_sync()
        for name, inside in list(layer.named_children()):
            layer.add_sublayer(name, cls.convert_sync_batchnorm(inside))
        return layer


class BatchNorm(_Statistics):
    """Channels scaled to mean 0 and variance 1 over the batch, in the words of 1.x."""

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype="float32",
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        super().__init__(dtype=dtype)
        average = do_model_average_for_mean_and_var
        names = (moving_mean_name, moving_variance_name)
        self._make(num_channels, param_attr, bias_attr, *names, average)
        self._act, self._is_test = act, is_test
        self._attrs = {
            "momentum": float(momentum),
            "epsilon": float(epsilon),
            "data_layout": data_layout,
            "use_global_stats": use_global_stats,
            "trainable_statistics": trainable_statistics,
        }

    def forward(self, input):
        """``input`` with channels of mean 0 and variance 1, scaled and moved."""
        attrs = {**self._attrs, "is_test": self._is_test or not self.training}
        outs = ["SavedMean", "SavedVariance", "ReserveSpace", "Y"]
        learnt = (self._mean, self._variance, self.weight, self.bias)
        return core.batch_norm_with(input, *learnt, attrs, outs, self._full_name, self._act)


class LayerNorm(Layer):
    """The last axes scaled to mean 0 and variance 1, then by learnt numbers."""

    def __init__(
        self, normalized_shape, epsilon=1e-05, weight_attr=None, bias_attr=None, name=None
    ):
        super().__init__()
        self._shape, self._epsilon = several(normalized_shape), epsilon
        count = 1
        for extent in self._shape:
            count *= extent
        self.weight = self.create_parameter([count], weight_attr, None, False, Constant(1.0))
        self.bias = self.create_parameter([count], bias_attr, is_bias=True)

    def forward(self, input):
        """``input`` with rows of mean 0 and variance 1, scaled and moved."""
        return F.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self):
        """The axes."""
        return f"normalized_shape={self._shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Groups of channels of each image scaled to mean 0 and variance 1, then by learnt numbers."""

    def __init__(
        self,
        num_groups,
        num_channels,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        self._attrs = {"groups": num_groups, "epsilon": float(epsilon), "data_layout": data_format}
        self.weight = self.create_parameter([num_channels], weight_attr, None, False, Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True)

    def forward(self, input):
        """``input`` with groups of mean 0 and variance 1, scaled and moved."""
        inputs = {"X": input, "Scale": self.weight, "Bias": self.bias}
        return core.op("group_norm", inputs, self._attrs, outs=["Y", "Mean", "Variance"])[0]

    def extra_repr(self):
        """The number of groups."""
        return "num_groups={groups}, epsilon={epsilon}".format(**self._attrs)


class _InstanceNorm(Layer):
    def _set(self, num_features, epsilon, weight_attr, bias_attr, name, **_):
        Layer.__init__(self)
        self._num_features, self._epsilon, self._name = num_features, epsilon, name
        learns = weight_attr is not False and bias_attr is not False
        self.scale = self.bias = None
        if learns:
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


def _of_one(word, what, data_format):
    signature = (
        "num_features, epsilon=1e-05, momentum=0.9, weight_attr=None, bias_attr=None, "
        f"data_format={data_format!r}, name=None"
    )
    doc = f"Each channel of each of the {what} scaled to mean 0 and variance 1."
    return made_class(word, _InstanceNorm, signature, _InstanceNorm._set, doc, __name__)


InstanceNorm1D = _of_one("InstanceNorm1D", "sequences", "NCL")
InstanceNorm2D = _of_one("InstanceNorm2D", "images", "NCHW")
InstanceNorm3D = _of_one("InstanceNorm3D", "volumes", "NCDHW")
