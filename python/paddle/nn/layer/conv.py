"""Convolutions."""

import math

from paddle._rows import rows
from paddle.nn import functional as F
from paddle.nn.initializer import KaimingNormal

from .layers import Layer


def _extents(value, axes):
    """One for each axis."""
    return list(value) if isinstance(value, (list, tuple)) else [value] * axes


class _Filters(Layer):
    """What layers with filters know of themselves."""

    output_padding = 0

    def _keep(self, in_channels, out_channels, weight_attr, bias_attr, mode, options):
        self._in_channels, self._out_channels = in_channels, out_channels
        self._param_attr, self._bias_attr, self._padding_mode = weight_attr, bias_attr, mode
        self._groups, self._padding = options["groups"], options["padding"]
        self._stride = _extents(options["stride"], self._axes)
        self._dilation = _extents(options["dilation"], self._axes)
        self._data_format = options["data_format"]


class _Conv(_Filters):
    """Filters, [filters, channels / groups, *window], and a bias for each."""

    def __init__(
        self, axes, in_channels, out_channels, kernel_size, weight_attr, bias_attr, **rest
    ):
        super().__init__()
        groups, mode = rest["groups"], rest.pop("padding_mode")
        if in_channels % groups:
            raise ValueError(f"{in_channels} channels cannot be cut into {groups} groups")
        window = _extents(kernel_size, axes)
        self._axes, self._kernel_size = axes, window
        self._keep(in_channels, out_channels, weight_attr, bias_attr, mode, rest)
        self._sides, self._options = None, rest
        if mode != "zeros":
            self._sides, rest["padding"] = self._around(rest["padding"], mode), 0
        shape = [out_channels, in_channels // groups, *window]
        start = KaimingNormal(fan_in=in_channels * math.prod(window))
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=start)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def _around(self, padding, mode):
        """The arguments of F.pad, which counts from the last axis."""
        if isinstance(padding, str):
            raise ValueError(f"padding_mode={mode!r} needs padding in numbers, but is {padding!r}")
        extents = reversed(_extents(padding, self._axes))
        return [side for extent in extents for side in (extent, extent)], mode

    def forward(self, x):
        """The filters over ``x``."""
        if self._sides is not None:
            x = F.pad(x, *self._sides, data_format=self._options["data_format"])
        function = F.conv1d if self._axes == 1 else F.conv2d
        return function(x, self.weight, self.bias, **self._options)

    def extra_repr(self):
        """Channels and window."""
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        words = ("stride", "padding", "data_format")
        return ", ".join([text, *(f"{word}={self._options[word]}" for word in words)])


class _ConvTranspose(_Filters):
    _axes = 2

    def __init__(self, in_channels, out_channels, kernel_size, weight_attr, bias_attr, **options):
        super().__init__()
        self._options, self._kernel_size = options, _extents(kernel_size, self._axes)
        self._keep(in_channels, out_channels, weight_attr, bias_attr, "zeros", options)
        self.output_padding = options["output_padding"]
        shape = [in_channels, out_channels // options["groups"], *self._kernel_size]
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x, output_size=None):
        """Larger images, of ``output_size`` where that is given."""
        words = {"output_size": output_size, **self._options}
        return F.conv2d_transpose(x, self.weight, self.bias, **words)


__all__ = rows(globals())
