"""Functions of sequences: rows of a tensor with a level of detail."""

import _flotilla as core


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence: ``sum``, ``average``, ``sqrt``, ``max``, ``last`` or ``first``.

    ``sqrt``: the sum divided by the root of the length. ``pad_value``: for empty sequences.
    """
    attrs = {"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": float(pad_value)}
    return core.op("sequence_pool", {"X": input}, attrs, outs=["Out", "MaxIndex"])[0]


def sequence_first_step(input):
    """The first row of each sequence."""
    return sequence_pool(input, "first")


def sequence_last_step(input):
    """The last row of each sequence."""
    return sequence_pool(input, "last")


def sequence_conv(
    input,
    num_filters,
    filter_size=3,
    filter_stride=1,
    padding=True,
    padding_start=None,
    bias_attr=None,
    param_attr=None,
    act=None,
    name=None,
):
    """Each row of a sequence with its neighbours, ``filter_size`` rows in all, times a parameter.

    ``padding_start``: of the first of them, from the row itself; by default the row stands in the
    middle. Rows outside of a sequence are zeros.
    """
    from paddle.fluid.layer_helper import LayerHelper

    helper = LayerHelper("sequence_conv", **locals())
    shape = [filter_size * input.shape[1], num_filters]
    weight = helper.create_parameter(param_attr, shape, helper.input_dtype())
    start = -(filter_size // 2) if padding_start is None else padding_start
    attrs = {"contextStride": filter_stride, "contextStart": start, "contextLength": filter_size}
    out = helper.create_variable_for_type_inference(helper.input_dtype())
    slots = {"X": [input], "Filter": [weight]}
    helper.append_op(type="sequence_conv", inputs=slots, outputs={"Out": [out]}, attrs=attrs)
    return helper.append_activation(helper.append_bias_op(out))


def sequence_softmax(input, use_cudnn=False, name=None):
    """Of each sequence of numbers, exponentials whose sum is one."""
    return core.op("sequence_softmax", {"X": input}, {"use_cudnn": use_cudnn}, name=name)
