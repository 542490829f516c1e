"""Convolutions."""

from paddle._words import made_class
from paddle.nn import functional as F
from paddle.nn.initializer import KaimingNormal

from .layers import Layer

__all__ = ["Conv1D", "Conv2D", "Conv2DTranspose"]


_CONV2D = """A convolution over height and width.

>>> nn.Conv2D(3, 8, 3, padding=1)(paddle.static.data("x", [None, 3, 32, 32])).shape
(-1, 8, 32, 32)
"""


class _Conv(Layer):
    """Filters, [filters, channels / groups, *window], and a bias for each."""

    def _make(
        self,
        in_channels,
        out_channels,
        kernel_size,
        padding,
        padding_mode,
        groups,
        weight_attr,
        bias_attr,
        **rest,
    ):
        Layer.__init__(self)
        if in_channels % groups:
            raise ValueError(f"{in_channels} channels cannot be cut into {groups} groups")
        several = isinstance(kernel_size, (list, tuple))
        window = list(kernel_size) if several else [kernel_size] * self._axes
        self._in_channels, self._out_channels, self._window = in_channels, out_channels, window
        self._sides = None
        if padding_mode != "zeros":
            self._sides, padding = self._around(padding, padding_mode), 0
        self._options = {"padding": padding, "groups": groups, **rest}
        fan_in = in_channels
        for extent in window:
            fan_in *= extent
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *window],
            weight_attr,
            default_initializer=KaimingNormal(fan_in=fan_in),
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def _around(self, padding, mode):
        """The arguments of F.pad, which counts from the last axis."""
        if isinstance(padding, str):
            raise ValueError(f"padding_mode={mode!r} needs padding in numbers, but is {padding!r}")
        extents = list(padding) if isinstance(padding, (list, tuple)) else [padding] * self._axes
        return [side for extent in reversed(extents) for side in (extent, extent)], mode

    def forward(self, x):
        """The filters over ``x``."""
        if self._sides is not None:
            x = F.pad(x, *self._sides, data_format=self._options["data_format"])
        return self._function(x, self.weight, self.bias, **self._options)

    def extra_repr(self):
        """Channels and window."""
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._window}"
        words = ("stride", "padding", "data_format")
        return ", ".join([text, *(f"{word}={self._options[word]}" for word in words)])


def _over(word, function, axes, what, data_format):
    """The convolutions differ in how many axes the filters slide over."""
    signature = (
        "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
        f"padding_mode='zeros', weight_attr=None, bias_attr=None, data_format={data_format!r}"
    )
    members = {"_axes": axes, "_function": staticmethod(function)}
    return made_class(word, _Conv, signature, _Conv._make, what, __name__, **members)


Conv1D = _over("Conv1D", F.conv1d, 1, "A convolution over the length of sequences.", "NCL")
Conv2D = _over("Conv2D", F.conv2d, 2, _CONV2D, "NCHW")


class Conv2DTranspose(Layer):
    """A convolution over height and width turned round: it makes images larger.

    >>> nn.Conv2DTranspose(3, 8, 2, stride=2)(paddle.static.data("x", [None, 3, 16, 16])).shape
    (-1, 8, 32, 32)
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__()
        several = isinstance(kernel_size, (list, tuple))
        window = list(kernel_size) if several else [kernel_size, kernel_size]
        shape = [in_channels, out_channels // groups, *window]
        self._options = {"stride": stride, "padding": padding, "dilation": dilation}
        self._options.update(groups=groups, data_format=data_format)
        self._output_padding = output_padding
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x, output_size=None):
        """Larger images, of ``output_size`` where that is given."""
        words = {"output_padding": self._output_padding, "output_size": output_size}
        return F.conv2d_transpose(x, self.weight, self.bias, **words, **self._options)
