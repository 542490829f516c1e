"""Forms of images as layers."""

from paddle._words import made_class
from paddle.nn import functional as F

from .of_function import OfFunction, layer_of

__all__ = [
    *("ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2D"),
    "UpsamplingNearest2D",
]

ChannelShuffle = layer_of("ChannelShuffle", F.channel_shuffle, __name__)
PixelShuffle = layer_of("PixelShuffle", F.pixel_shuffle, __name__)
PixelUnshuffle = layer_of("PixelUnshuffle", F.pixel_unshuffle, __name__)
Upsample = layer_of("Upsample", F.interpolate, __name__)


def _fixed(word, doc, **fixed):
    """Upsample with its mode chosen."""

    def make(self, **words):
        OfFunction._keep(self, **words, **fixed)

    signature = "size=None, scale_factor=None, data_format='NCHW', name=None"
    return made_class(word, Upsample, signature, make, doc, __name__)


UpsamplingNearest2D = _fixed(
    "UpsamplingNearest2D", "Images of another size: the nearest pixel.", mode="nearest"
)
UpsamplingBilinear2D = _fixed(
    "UpsamplingBilinear2D",
    "Images of another size: a mixture of four pixels; corners come from corners.",
    mode="bilinear",
    align_corners=True,
)
