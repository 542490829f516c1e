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


def sequence_concat(input, name=None):
    """Sequence i of each variable of a list, one behind the other."""
    return core.op("sequence_concat", {"X": input}, name=name)


def sequence_expand(x, y, ref_level=-1, name=None):
    """Each sequence of ``x``, or each row where it has none, as often as the sequence of ``y`` with
    the same number is long. ``ref_level``: which level of ``y``; -1: the last."""
    return core.op("sequence_expand", {"X": x, "Y": y}, {"ref_level": ref_level}, name=name)


def sequence_expand_as(x, y, name=None):
    """Each row of ``x`` for every row of its sequence of ``y``."""
    return core.op("sequence_expand_as", {"X": x, "Y": y}, name=name)


def sequence_slice(input, offset, length, name=None):
    """Of sequence i, ``length[i]`` rows from row ``offset[i]`` on."""
    inputs = {"X": input, "Offset": offset, "Length": length}
    return core.op("sequence_slice", inputs, name=name)


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """(sequences one beside the other, [sequences, longest, ...]; their lengths).

    ``pad_value``, a variable with one number or a row, stands behind those that are shorter.
    """
    attrs = {"padded_length": -1 if maxlen is None else maxlen}
    inputs, outs = {"X": x, "PadValue": pad_value}, ["Out", "Length"]
    padded, length = core.op("sequence_pad", inputs, attrs, name=name, outs=outs)
    length.stop_gradient = True
    return padded, length


def sequence_unpad(x, length, name=None):
    """Sequences of padded rows ``x``, [sequences, longest, ...]: the first ``length[i]`` of each."""
    return core.op("sequence_unpad", {"X": x, "Length": length}, name=name)


def sequence_reshape(input, new_dim):
    """The elements of each sequence in rows of ``new_dim``."""
    return core.op("sequence_reshape", {"X": input}, {"new_dim": new_dim})


def sequence_scatter(input, index, updates, name=None):
    """``input``, where the numbers of sequence i of ``updates`` are added to row i, each at the
    column that ``index`` names."""
    inputs = {"X": input, "Ids": index, "Updates": updates}
    return core.op("sequence_scatter", inputs, name=name)


def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """Each number of a sequence with the ``win_size`` - 1 behind it."""
    attrs = {"win_size": win_size, "pad_value": pad_value}
    return core.op("sequence_enumerate", {"X": input}, attrs, name=name, stop_gradient=True)


def sequence_reverse(x, name=None):
    """The rows of each sequence from the last to the first."""
    return core.op("sequence_reverse", {"X": x}, name=name)
