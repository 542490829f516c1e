"""Convolutions."""

import _flotilla as core
from paddle._words import several
from paddle.tensor.manipulation import squeeze, unsqueeze

__all__ = ["conv1d", "conv2d", "conv2d_transpose"]


def _pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def conv2d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCHW",
    name=None,
):
    """Slide the filters ``weight``, [filters, channels / groups, height, width], over images.

    ``padding``: a number, one for each axis, all four sides, or "SAME" or "VALID".
    """
    channel = 1 if data_format == "NCHW" else 3
    channels, filters = x.shape[channel], weight.shape[0]
    depthwise = groups > 1 and channels == groups and filters % channels == 0
    paddings, algorithm = core.conv_padding(padding, data_format)
    attrs = {"strides": _pair(stride), "dilations": _pair(dilation), "groups": groups}
    attrs.update(paddings=paddings, padding_algorithm=algorithm, data_format=data_format)
    type = "depthwise_conv2d" if depthwise else "conv2d"
    name = name or core.unique_name(type)
    made = core.op(type, {"Input": x, "Filter": weight}, attrs, name=name)
    if bias is None:
        return made
    return core.op("elementwise_add", {"X": made, "Y": bias}, {"axis": channel}, name=name)


def conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    dilation=1,
    groups=1,
    output_size=None,
    data_format="NCHW",
    name=None,
):
    """Make images larger: each element adds a filter of ``weight``, [channels, filters / groups,
    height, width], to the result.

    ``output_size``, or ``output_padding`` more than the least, says how large the result is.
    """
    paddings, algorithm = core.conv_padding(padding, data_format)
    attrs = {"strides": _pair(stride), "dilations": _pair(dilation), "groups": groups}
    attrs.update(paddings=paddings, padding_algorithm=algorithm, data_format=data_format)
    if output_size is not None:
        attrs["output_size"] = _pair(output_size)
    elif output_padding:
        attrs["output_padding"] = _pair(output_padding)
    name = name or core.unique_name("conv2d_transpose")
    made = core.op("conv2d_transpose", {"Input": x, "Filter": weight}, attrs, name=name)
    if bias is None:
        return made
    axis = {"axis": 1 if data_format == "NCHW" else 3}
    return core.op("elementwise_add", {"X": made, "Y": bias}, axis, name=name)


def conv1d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCL",
    name=None,
):
    """Slide the filters ``weight``, [filters, channels / groups, length], over sequences."""
    axis, format = (2, "NCHW") if data_format == "NCL" else (1, "NHWC")
    sides = padding if isinstance(padding, str) else [0, 0, *(several(padding) * 2)[:2]]
    wide, strides = unsqueeze(x, axis), [1, *several(stride)]
    dilations = [1, *several(dilation)]
    filter = unsqueeze(weight, 2)
    made = conv2d(wide, filter, bias, strides, sides, dilations, groups, format, name)
    return squeeze(made, axis)
