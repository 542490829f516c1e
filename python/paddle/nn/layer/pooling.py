"""Pools: the largest or the mean element of windows."""

from paddle.nn import functional as F

from .of_function import layer_of

__all__ = [
    *("AdaptiveAvgPool1D", "AdaptiveAvgPool2D", "AdaptiveMaxPool1D", "AdaptiveMaxPool2D"),
    *("AvgPool1D", "AvgPool2D", "MaxPool1D", "MaxPool2D", "MaxUnPool2D"),
]

AdaptiveAvgPool1D = layer_of("AdaptiveAvgPool1D", F.adaptive_avg_pool1d, __name__)
AdaptiveAvgPool2D = layer_of("AdaptiveAvgPool2D", F.adaptive_avg_pool2d, __name__)
AdaptiveMaxPool1D = layer_of("AdaptiveMaxPool1D", F.adaptive_max_pool1d, __name__)
AdaptiveMaxPool2D = layer_of("AdaptiveMaxPool2D", F.adaptive_max_pool2d, __name__)
AvgPool1D = layer_of("AvgPool1D", F.avg_pool1d, __name__)
AvgPool2D = layer_of("AvgPool2D", F.avg_pool2d, __name__)
MaxPool1D = layer_of("MaxPool1D", F.max_pool1d, __name__)
MaxPool2D = layer_of("MaxPool2D", F.max_pool2d, __name__)
MaxUnPool2D = layer_of("MaxUnPool2D", F.max_unpool2d, __name__, 2)
