"""Functions of sequences: rows of a tensor with a level of detail."""

import _flotilla as core
from paddle._rows import rows

__all__ = [*rows(globals()), "sequence_conv", "sequence_pad", "sequence_pool"]


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence: ``sum``, ``average``, ``sqrt``, ``max``, ``last`` or ``first``.

    ``sqrt``: the sum divided by the root of the length. ``pad_value``: for empty sequences.
    """
    attrs = {"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": float(pad_value)}
    return core.op("sequence_pool", {"X": input}, attrs, outs=["Out", "MaxIndex"])[0]


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


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """(sequences one beside the other, [sequences, longest, ...]; their lengths).

    ``pad_value``, a variable with one number or a row, stands behind those that are shorter.
    """
    attrs = {"padded_length": -1 if maxlen is None else maxlen}
    inputs, outs = {"X": x, "PadValue": pad_value}, ["Out", "Length"]
    padded, length = core.op("sequence_pad", inputs, attrs, name=name, outs=outs)
    length.stop_gradient = True
    return padded, length
