"""Forms of images: other sizes, channels for places."""

import _flotilla as core
from paddle._words import several
from paddle.base.framework import Variable

__all__ = ["channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample"]


def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format="NCHW",
    name=None,
):
    """Images of another size: the nearest pixel, or a mixture of four.

    ``size``: height and width, numbers or variables; or ``scale_factor``, one or two.
    ``align_corners``: corners come from corners. ``align_mode``: 0 counts from the middle of pixels.
    """
    mode = mode.lower()
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f'mode must be "nearest" or "bilinear", but is {mode!r}; more comes later')
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate needs one of size and scale_factor")
    attrs = {"interp_method": mode, "align_corners": align_corners, "align_mode": align_mode}
    attrs["data_layout"] = data_format
    inputs = {"X": x, **size_inputs(size, attrs), **_scale_inputs(scale_factor, attrs)}
    return core.op(f"{mode}_interp_v2", inputs, attrs, name=name)


upsample = interpolate


def size_inputs(size, attrs):
    """The op's inputs for a size; numbers become attributes."""
    if size is None:
        return {}
    if isinstance(size, Variable):
        return {"OutSize": size}
    extents = several(size)
    if len(extents) != 2:
        raise ValueError(f"size must hold height and width, but is {size!r}")
    if any(isinstance(extent, Variable) for extent in extents):
        return {"SizeTensor": core.shape_argument(extents)[1]}
    attrs["out_h"], attrs["out_w"] = map(int, extents)
    return {}


def _scale_inputs(factor, attrs):
    if factor is None:
        return {}
    if isinstance(factor, Variable):
        return {"Scale": factor}
    factors = several(factor)
    attrs["scale"] = [float(one) for one in (factors * 2)[:2]]
    return {}


def pixel_shuffle(x, upscale_factor, data_format="NCHW", name=None):
    """Channels become places: [N, C r r, H, W] becomes [N, C, H r, W r]."""
    attrs = {"upscale_factor": upscale_factor, "data_format": data_format}
    return core.op("pixel_shuffle", {"X": x}, attrs, name=name)


def pixel_unshuffle(x, downscale_factor, data_format="NCHW", name=None):
    """Places become channels: [N, C, H r, W r] becomes [N, C r r, H, W]."""
    attrs = {"downscale_factor": downscale_factor, "data_format": data_format}
    return core.op("pixel_unshuffle", {"X": x}, attrs, name=name)


def channel_shuffle(x, groups, data_format="NCHW", name=None):
    """The channels of groups, one of each group in turn."""
    attrs = {"groups": groups, "data_format": data_format}
    return core.op("channel_shuffle", {"X": x}, attrs, name=name)
