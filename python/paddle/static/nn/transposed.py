"""Convolutions turned round."""

import _flotilla as core
from paddle.nn.functional.conv import conv2d_transpose as transposed


def conv2d_transpose(
    input,
    num_filters,
    output_size=None,
    filter_size=None,
    padding=0,
    stride=1,
    dilation=1,
    groups=None,
    param_attr=None,
    bias_attr=None,
    use_cudnn=True,
    act=None,
    name=None,
    data_format="NCHW",
):
    """Images made larger: each element of ``input`` adds its filter to the result.

    ``output_size`` or ``filter_size`` follows from the other where only one is given.
    """
    layer = name or core.unique_name("conv2d_transpose")
    last = data_format == "NHWC"
    extents = input.shape[1:3] if last else input.shape[2:4]
    strides, dilations, groups = _pair(stride), _pair(dilation), groups or 1
    size = None if output_size is None else _pair(output_size)
    if filter_size is None:
        if size is None:
            raise ValueError("conv2d_transpose needs filter_size or output_size")
        paddings = core.conv_padding(padding, data_format)[0]
        filter_size = _filter_size(size, extents, paddings, strides, dilations)
    shape = [input.shape[-1 if last else 1], num_filters // groups, *_pair(filter_size)]
    weight = core.create_parameter(shape, input.dtype, param_attr, layer=layer)
    words = {"is_bias": True, "layer": layer}
    bias = core.create_parameter([num_filters], input.dtype, bias_attr, **words)
    made = transposed(
        *(input, weight, bias, strides, padding),
        dilation=dilations,
        groups=groups,
        output_size=size,
        data_format=data_format,
        name=layer,
    )
    return made if act is None else core.op(act, {"X": made})


def _pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def _filter_size(size, extents, paddings, strides, dilations):
    """The least filters that give images of ``size``."""
    cut = (
        [sum(paddings[:2]), sum(paddings[2:])] if len(paddings) == 4 else [2 * p for p in paddings]
    )
    return [
        (size[a] - (extents[a] - 1) * strides[a] + cut[a] - 1) // dilations[a] + 1 for a in (0, 1)
    ]
