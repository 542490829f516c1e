"""Forms of images: other sizes, channels for places, places in time."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import several
from paddle.base.framework import Variable

__all__ = [*rows(globals()), "interpolate", "upsample"]

# How an image is resized, and the words for its axes.
_AXES = {
    "nearest": ("height", "width"),
    "linear": ("width",),
    "bilinear": ("height", "width"),
    "trilinear": ("depth", "height", "width"),
    "bicubic": ("height", "width"),
}
_LAYOUTS = {"NCW": "NCHW", "NCDHW": "NCHW", "NWC": "NHWC", "NDHWC": "NHWC"}


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
    """Images of another size: the nearest pixel, or a mixture of those around.

    ``mode``: ``nearest``, ``bilinear`` or ``bicubic`` for images, ``linear`` for sequences,
    ``trilinear`` for volumes. ``size``: the extents, numbers or variables; or ``scale_factor``, one
    for all or one for each. ``align_corners``: corners come from corners. ``align_mode``: 0 counts
    from the middle of pixels.
    """
    mode = mode.lower()
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate needs one of size and scale_factor")
    attrs = resize_attrs(mode, align_corners, align_mode, data_format)
    inputs = {"X": x, **size_inputs(size, attrs), **_scale_inputs(scale_factor, attrs)}
    return core.op(f"{mode}_interp_v2", inputs, attrs, name=name)


upsample = interpolate


def resize_attrs(mode, align_corners, align_mode, data_format):
    """The attributes that say how images are resized."""
    if mode not in _AXES:
        raise ValueError(f"mode must be one of {', '.join(_AXES)}, but is {mode!r}")
    attrs = {"interp_method": mode, "align_corners": align_corners, "align_mode": align_mode}
    attrs["data_layout"] = _LAYOUTS.get(data_format, data_format)
    return attrs


def size_inputs(size, attrs):
    """The op's inputs for a size; numbers become attributes."""
    if size is None:
        return {}
    if isinstance(size, Variable):
        return {"OutSize": size}
    extents, axes = several(size), _AXES[attrs["interp_method"]]
    if len(extents) != len(axes):
        raise ValueError(f"size must hold {' and '.join(axes)}, but is {size!r}")
    if any(isinstance(extent, Variable) for extent in extents):
        return {"SizeTensor": core.shape_argument(extents)[1]}
    for axis, extent in zip(axes, extents):
        attrs["out_" + axis[0]] = int(extent)
    return {}


def _scale_inputs(factor, attrs):
    if factor is None:
        return {}
    if isinstance(factor, Variable):
        return {"Scale": factor}
    factors, count = several(factor), len(_AXES[attrs["interp_method"]])
    attrs["scale"] = [float(one) for one in (factors * count)[: max(count, len(factors))]]
    return {}
