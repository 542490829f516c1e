"""Pools: the largest or the mean element of windows."""

from paddle.nn import functional as F

from .layers import Layer

__all__ = [
    *("AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveMaxPool1D", "AdaptiveMaxPool2D"),
    *("AvgPool1D", "AvgPool2D", "MaxPool1D", "MaxPool2D"),
]


class _Pool(Layer):
    """A function of one input with its other arguments."""

    def __init__(self, **arguments):
        super().__init__()
        self._arguments = arguments

    def forward(self, x):
        """The pools of ``x``."""
        return self._function(x, **self._arguments)

    def extra_repr(self):
        """The arguments."""
        return ", ".join(f"{word}={value}" for word, value in self._arguments.items())


class MaxPool2D(_Pool):
    """The largest element of windows of images."""

    _function = staticmethod(F.max_pool2d)

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            return_mask=return_mask,
            ceil_mode=ceil_mode,
            data_format=data_format,
            name=name,
        )


class AvgPool2D(_Pool):
    """The mean of windows of images."""

    _function = staticmethod(F.avg_pool2d)

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
            name=name,
        )


class MaxPool1D(_Pool):
    """The largest element of windows of sequences."""

    _function = staticmethod(F.max_pool1d)

    def __init__(
        self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            return_mask=return_mask,
            ceil_mode=ceil_mode,
            name=name,
        )


class AvgPool1D(_Pool):
    """The mean of windows of sequences."""

    _function = staticmethod(F.avg_pool1d)

    def __init__(
        self, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None
    ):
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            exclusive=exclusive,
            ceil_mode=ceil_mode,
            name=name,
        )


class AdaptiveAvgPool2D(_Pool):
    """The means of windows chosen so that the result has ``output_size``."""

    _function = staticmethod(F.adaptive_avg_pool2d)

    def __init__(self, output_size, data_format="NCHW", name=None):
        super().__init__(output_size=output_size, data_format=data_format, name=name)


class AdaptiveMaxPool2D(_Pool):
    """The largest elements of windows chosen so that the result has ``output_size``."""

    _function = staticmethod(F.adaptive_max_pool2d)

    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__(output_size=output_size, return_mask=return_mask, name=name)


class AdaptiveAvgPool1D(_Pool):
    """The means of windows of sequences; the result has ``output_size``."""

    _function = staticmethod(F.adaptive_avg_pool1d)

    def __init__(self, output_size, name=None):
        super().__init__(output_size=output_size, name=name)


class AdaptiveMaxPool1D(_Pool):
    """The largest elements of windows of sequences; the result has ``output_size``."""

    _function = staticmethod(F.adaptive_max_pool1d)

    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__(output_size=output_size, return_mask=return_mask, name=name)
