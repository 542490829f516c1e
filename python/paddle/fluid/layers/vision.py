"""Forms of images in the words of 1.x."""

import _flotilla as core
from paddle._rows import rows
from paddle.base.framework import Variable
from paddle.nn.functional import vision as _new

__all__ = [*rows(globals()), "image_resize", "interpolate"]


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
