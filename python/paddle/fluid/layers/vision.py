"""Forms of images in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle.base.framework import Variable
from paddle.nn.functional import activation
from paddle.nn.functional import vision as _new
from paddle.static.nn.common import group_norm
from paddle.static.nn.common import instance_norm as _instance_norm

__all__ = [
    "group_norm",
    "image_resize",
    "instance_norm",
    "interpolate",
    "maxout",
    "pixel_shuffle",
    "resize_bilinear",
    "resize_nearest",
    "resize_trilinear",
    "shuffle_channel",
    "space_to_depth",
    "temporal_shift",
]


def image_resize(
    input,
    out_shape=None,
    scale=None,
    name=None,
    resample="BILINEAR",
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
    """Images of another size: the ``NEAREST`` pixel, or a mixture of those around.

    ``resample``: ``NEAREST``, ``BILINEAR`` or ``BICUBIC`` for images, ``TRILINEAR`` for volumes.
    ``out_shape``: the extents, numbers or variables; or ``scale``. ``actual_shape``: a variable
    that stands before both when the program runs.
    """
    if out_shape is None and scale is None:
        raise ValueError("image_resize needs one of out_shape and scale")
    mode = resample.lower()
    attrs = _new.resize_attrs(mode, align_corners, align_mode, data_format)
    inputs = {"X": input}
    if out_shape is not None:
        inputs.update(_new.size_inputs(out_shape, attrs))
    elif isinstance(scale, Variable):
        inputs["Scale"] = scale
    else:
        attrs["scale"] = float(scale)
    if actual_shape is not None:
        inputs["OutSize"] = actual_shape
    return core.op(f"{mode}_interp", inputs, attrs, name=name)


interpolate = image_resize


def resize_bilinear(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
    """Images of another size, mixtures of four pixels; see image_resize."""
    words = ("BILINEAR", actual_shape, align_corners, align_mode, data_format)
    return image_resize(input, out_shape, scale, name, *words)


def resize_trilinear(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCDHW",
):
    """Volumes of another size, mixtures of eight places; see image_resize."""
    words = ("TRILINEAR", actual_shape, align_corners, align_mode, data_format)
    return image_resize(input, out_shape, scale, name, *words)


def resize_nearest(
    input,
    out_shape=None,
    scale=None,
    name=None,
    actual_shape=None,
    align_corners=True,
    data_format="NCHW",
):
    """Images of another size, the nearest pixel; see image_resize."""
    words = ("NEAREST", actual_shape, align_corners, 1, data_format)
    return image_resize(input, out_shape, scale, name, *words)


def maxout(x, groups, name=None, axis=1):
    """The largest of each ``groups`` channels that follow one another."""
    return activation.maxout(x, groups, axis, name)


def pixel_shuffle(x, upscale_factor):
    """Channels become places: [N, C r r, H, W] becomes [N, C, H r, W r]."""
    return core.op("pixel_shuffle", {"X": x}, {"upscale_factor": upscale_factor})


def shuffle_channel(x, group, name=None):
    """The channels of groups, one of each group in turn."""
    return core.op("shuffle_channel", {"X": x}, {"group": group}, name=name)


def space_to_depth(x, blocksize, name=None):
    """Places become channels: [N, C, H, W] becomes [N, C b b, H / b, W / b]."""
    return core.op("space_to_depth", {"X": x}, {"blocksize": blocksize}, name=name)


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Some channels of each image of a film come from the images before and behind."""
    return _new.temporal_shift(x, seg_num, shift_ratio, name)


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Each channel of each image scaled to mean 0 and variance 1, then by learnt numbers."""
    if param_attr is None and bias_attr is None:
        param_attr, bias_attr = core.to_param_attr(None), core.to_param_attr(None)
    return _instance_norm(input, epsilon, param_attr, bias_attr, name)


__getattr__, __dir__ = names_of(__name__)
