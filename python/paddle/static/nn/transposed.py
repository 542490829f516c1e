"""Convolutions turned round."""

import _flotilla as core


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
    algorithm = padding.upper() if isinstance(padding, str) else "EXPLICIT"
    paddings = [0, 0] if isinstance(padding, str) else _paddings(padding, last)
    size = None if output_size is None else _pair(output_size)
    if filter_size is None:
        if size is None:
            raise ValueError("conv2d_transpose needs filter_size or output_size")
        filter_size = _filter_size(size, extents, paddings, strides, dilations)
    shape = [input.shape[-1 if last else 1], num_filters // groups, *_pair(filter_size)]
    weight = core.create_parameter(shape, input.dtype, param_attr, layer=layer)
    attrs = {"strides": strides, "paddings": paddings, "padding_algorithm": algorithm}
    attrs.update(dilations=dilations, groups=groups, data_format=data_format)
    if size is not None:
        attrs["output_size"] = size
    slots = {"Input": input, "Filter": weight}
    if bias_attr is False:
        return core.op("conv2d_transpose", slots, attrs, layer=layer, act=act)
    made = core.op("conv2d_transpose", slots, attrs, layer=layer)
    words = {"is_bias": True, "layer": layer}
    bias = core.create_parameter([num_filters], input.dtype, bias_attr, **words)
    slots, axis = {"X": made, "Y": bias}, {"axis": 3 if last else 1}
    return core.op("elementwise_add", slots, axis, layer=layer, act=act)


def _pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def _paddings(padding, last):
    """Two numbers, or four: top, bottom, left, right."""
    if not isinstance(padding, (list, tuple)):
        return [padding, padding]
    if not isinstance(padding[0], (list, tuple)):
        return list(padding)
    pairs = padding[1:3] if last else padding[2:4]
    return [number for pair in pairs for number in pair]


def _filter_size(size, extents, paddings, strides, dilations):
    """The least filters that give images of ``size``."""
    cut = (
        [sum(paddings[:2]), sum(paddings[2:])] if len(paddings) == 4 else [2 * p for p in paddings]
    )
    return [
        (size[a] - (extents[a] - 1) * strides[a] + cut[a] - 1) // dilations[a] + 1 for a in (0, 1)
    ]
