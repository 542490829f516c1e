"""Products with weights, lookups, dropout and forms of data."""

from paddle.nn import functional as F
from paddle.tensor.composed import unflatten
from paddle.tensor.manipulation import flatten

from .layers import Layer
from .of_function import OfFunction, layer_of

__all__ = [
    *("CosineSimilarity", "Dropout", "Dropout2D", "Dropout3D", "Embedding", "Flatten", "Fold"),
    *(
        "Identity",
        "Linear",
        "Pad1D",
        "Pad2D",
        "Pad3D",
        "PairwiseDistance",
        "Unflatten",
        "Unfold",
        "ZeroPad2D",
    ),
]


class Identity(Layer):
    """Gives its input back."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """``input``."""
        return input


class Linear(Layer):
    """x @ weight + bias.

    >>> nn.Linear(4, 5)(paddle.static.data("x", [None, 4])).shape
    (-1, 5)
    """

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.name = name

    def forward(self, input):
        """input @ weight + bias."""
        return F.linear(input, self.weight, self.bias, self.name)

    def extra_repr(self):
        """The extents of the weight."""
        rows, columns = self.weight.shape
        return f"in_features={rows}, out_features={columns}, dtype={self._dtype}"


class Embedding(Layer):
    """A table; ids pick its rows.

    ``sparse``: the gradient holds the rows that were looked up, not the whole table.
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        sparse=False,
        weight_attr=None,
        name=None,
    ):
        super().__init__()
        self._padding_idx, self._sparse, self._name = padding_idx, sparse, name
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)

    def forward(self, x):
        """The rows of the table that ``x`` names."""
        return F.embedding(x, self.weight, self._padding_idx, self._sparse, self._name)

    def extra_repr(self):
        """The extents of the table."""
        return "{}, {}, sparse={}".format(*self.weight.shape, self._sparse)


class Flatten(Layer):
    """One axis of those from ``start_axis`` to ``stop_axis``."""

    def __init__(self, start_axis=1, stop_axis=-1):
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        """``input`` with fewer axes."""
        return flatten(input, self.start_axis, self.stop_axis)


class Dropout(Layer):
    """Sets elements to zero with probability ``p`` while training."""

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super().__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input):
        """``input`` without some elements."""
        return F.dropout(input, self.p, self.axis, self.training, self.mode, self.name)

    def extra_repr(self):
        """The probability."""
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Dropout2D(Layer):
    """Sets whole channels of images to zero with probability ``p`` while training."""

    def __init__(self, p=0.5, data_format="NCHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        """``input`` without some channels."""
        return F.dropout2d(input, self.p, self.training, self.data_format, self.name)


class Dropout3D(Layer):
    """Sets whole channels of volumes to zero with probability ``p`` while training."""

    def __init__(self, p=0.5, data_format="NCDHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        """``input`` without some channels."""
        return F.dropout3d(input, self.p, self.training, self.data_format, self.name)


class _Pad(Layer):
    def __init__(self, axes, padding, mode, value, data_format, name):
        super().__init__()
        self._padding = [padding] * 2 * axes if isinstance(padding, int) else padding
        self._options = (mode, value, data_format, name)

    def forward(self, x):
        """``x`` with elements around."""
        return F.pad(x, self._padding, *self._options)


class Pad1D(_Pad):
    """Adds elements at both ends of sequences."""

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCL", name=None):
        super().__init__(1, padding, mode, value, data_format, name)


class Pad2D(_Pad):
    """Adds elements around images: left, right, top, bottom."""

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        super().__init__(2, padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Adds elements around volumes: left, right, top, bottom, front, back."""

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCDHW", name=None):
        super().__init__(3, padding, mode, value, data_format, name)


class ZeroPad2D(_Pad):
    """Adds zeros around images: left, right, top, bottom."""

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(2, padding, "constant", 0.0, data_format, name)


class CosineSimilarity(Layer):
    """The cosine of the angle between slices along ``axis``."""

    def __init__(self, axis=1, eps=1e-8):
        super().__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1, x2):
        """The cosines."""
        return F.cosine_similarity(x1, x2, self._axis, self._eps)


class Unfold(OfFunction):
    """The elements of windows of images, a column for each place; see ``nn.functional.unfold``."""

    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        words = {"kernel_sizes": kernel_sizes, "dilations": dilations, "paddings": paddings}
        self._keep(**words, strides=strides, name=name)

    def forward(self, input):
        """The columns."""
        return F.unfold(input, **self._arguments)


class Fold(OfFunction):
    """Images to which the columns of windows are added up; see ``nn.functional.fold``."""

    def __init__(self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        words = {"output_sizes": output_sizes, "kernel_sizes": kernel_sizes}
        self._keep(**words, dilations=dilations, paddings=paddings, strides=strides, name=name)

    def forward(self, input):
        """The images."""
        return F.fold(input, **self._arguments)


Unflatten = layer_of("Unflatten", unflatten, __name__)
PairwiseDistance = layer_of("PairwiseDistance", F.pairwise_distance, __name__, 2)
