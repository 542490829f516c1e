"""Convolutions."""

from paddle.nn import functional as F
from paddle.nn.initializer import KaimingNormal

from .layers import Layer

__all__ = ["Conv1D", "Conv2D"]


class _Conv(Layer):
    """Filters, [filters, channels / groups, *window], and a bias for each."""

    _axes = 2
    _function = staticmethod(F.conv2d)

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__()
        if in_channels % groups:
            raise ValueError(f"{in_channels} channels cannot be cut into {groups} groups")
        several = isinstance(kernel_size, (list, tuple))
        window = list(kernel_size) if several else [kernel_size] * self._axes
        self._in_channels, self._out_channels, self._window = in_channels, out_channels, window
        self._sides = None
        if padding_mode != "zeros":
            self._sides, padding = self._around(padding, padding_mode), 0
        self._options = (stride, padding, dilation, groups, data_format)
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
            x = F.pad(x, *self._sides, data_format=self._options[-1])
        return self._function(x, self.weight, self.bias, *self._options)

    def extra_repr(self):
        """Channels and window."""
        stride, padding, _, _, data_format = self._options
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._window}"
        return f"{text}, stride={stride}, padding={padding}, data_format={data_format}"


class Conv2D(_Conv):
    """A convolution over height and width.

    >>> nn.Conv2D(3, 8, 3, padding=1)(paddle.static.data("x", [None, 3, 32, 32])).shape
    (-1, 8, 32, 32)
    """


class Conv1D(_Conv):
    """A convolution over the length of sequences."""

    _axes = 1
    _function = staticmethod(F.conv1d)

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
    ):
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, padding, dilation, groups),
            *(padding_mode, weight_attr, bias_attr, data_format),
        )
