"""Layers with parameters, as functions. Where 1.x and 2.x differ in words, both are understood."""

import _flotilla as core
from paddle._words import also
from paddle.base.initializer import Constant
from paddle.nn.functional.norm import scaled
from paddle.tensor.manipulation import concat
from paddle.tensor.ops import log1p


@also(input="x", param_attr="weight_attr", act="activation")
def fc(
    x,
    size,
    num_flatten_dims=1,
    weight_attr=None,
    bias_attr=None,
    activation=None,
    name=None,
):
    """``activation(sum of x_i W_i + b)``; ``x`` is a variable or a list of them.

    >>> fc(paddle.static.data("x", [None, 784]), 10).shape
    (-1, 10)
    """
    return core.fc(x, size, num_flatten_dims, weight_attr, bias_attr, activation, name)


def _one_channel_a_group(input, num_filters, groups, data_format):
    shape = getattr(input, "shape", ())
    channels = shape[1 if data_format == "NCHW" else -1] if len(shape) == 4 else None
    return groups is not None and channels == groups and num_filters % groups == 0


def conv2d(
    input,
    num_filters,
    filter_size,
    stride=1,
    padding=0,
    dilation=1,
    groups=None,
    param_attr=None,
    bias_attr=None,
    use_cudnn=True,
    act=None,
    name=None,
    data_format="NCHW",
):
    """A convolution over height and width."""
    depthwise = _one_channel_a_group(input, num_filters, groups, data_format)
    if name is None and depthwise and not use_cudnn:
        name = core.unique_name("depthwise_conv2d")  # what Paddle calls it, and its parameters
    return core.conv2d(
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


def batch_norm(
    input,
    act=None,
    is_test=False,
    momentum=0.9,
    epsilon=1e-05,
    param_attr=None,
    bias_attr=None,
    data_layout="NCHW",
    in_place=False,
    name=None,
    moving_mean_name=None,
    moving_variance_name=None,
    do_model_average_for_mean_and_var=True,
    use_global_stats=False,
):
    """Each channel scaled to mean 0 and variance 1 over the batch, then by learnt numbers."""
    return core.batch_norm(
        input,
        act,
        is_test,
        momentum,
        epsilon,
        param_attr,
        bias_attr,
        data_layout,
        name,
        moving_mean_name,
        moving_variance_name,
        do_model_average_for_mean_and_var,
        use_global_stats,
    )


def layer_norm(
    input,
    scale=True,
    shift=True,
    begin_norm_axis=1,
    epsilon=1e-05,
    param_attr=None,
    bias_attr=None,
    act=None,
    name=None,
):
    """Each row scaled to mean 0 and variance 1, then by learnt numbers."""
    return core.layer_norm(
        input,
        begin_norm_axis,
        epsilon,
        param_attr if scale else False,
        bias_attr if shift else False,
        act,
        name,
    )


def _learnt(input, channels, attr, start, is_bias, layer):
    """A parameter with a number for each channel, only where an attribute asks for it."""
    if not attr:
        return None
    words = {"initializer": Constant(start), "is_bias": is_bias, "layer": layer}
    return core.create_parameter([channels], input.dtype, attr, **words)


def group_norm(
    input,
    groups,
    epsilon=1e-05,
    param_attr=None,
    bias_attr=None,
    act=None,
    data_layout="NCHW",
    name=None,
):
    """Groups of channels of each image scaled to mean 0 and variance 1.

    With ``param_attr`` also by a learnt number for each channel, with ``bias_attr`` moved by one.
    """
    layer = name or core.unique_name("group_norm")
    channels = input.shape[1 if data_layout == "NCHW" else -1]
    learnt = [
        _learnt(input, channels, param_attr, 1.0, False, layer),
        _learnt(input, channels, bias_attr, 0.0, True, layer),
    ]
    attrs = {"groups": groups, "epsilon": float(epsilon), "data_layout": data_layout}
    return scaled("group_norm", input, *learnt, attrs, layer, act)


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Each channel of each image scaled to mean 0 and variance 1.

    With ``param_attr`` and ``bias_attr`` also scaled and moved by learnt numbers.
    """
    if (param_attr is False) != (bias_attr is False):
        raise ValueError("param_attr and bias_attr must both be False, or none of them")
    layer = name or core.unique_name("instance_norm")
    both = bool(param_attr and bias_attr)
    learnt = [
        _learnt(input, input.shape[1], both and param_attr, 1.0, False, layer),
        _learnt(input, input.shape[1], both and bias_attr, 0.0, True, layer),
    ]
    return scaled("instance_norm", input, *learnt, {"epsilon": float(epsilon)}, layer)


def embedding(
    input,
    size,
    is_sparse=False,
    is_distributed=False,
    padding_idx=None,
    param_attr=None,
    dtype="float32",
):
    """The rows of a table of ``size`` [rows, width] that ``input`` names."""
    return core.embedding(input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def sparse_embedding(
    input,
    size,
    padding_idx=None,
    is_test=False,
    entry=None,
    table_class="MemorySparseTable",
    param_attr=None,
    dtype="float32",
    slot=None,
):
    """The rows of a table for parameter servers, one table for each call."""
    return core.sparse_embedding(
        input,
        size,
        padding_idx,
        is_test,
        "none" if entry is None else str(entry),
        table_class,
        slot or 0,
        param_attr,
        dtype,
    )


def prelu(x, mode, param_attr=None, data_format="NCHW", name=None):
    """x above zero, alpha * x below; one alpha for ``all``, each ``channel`` or ``element``."""
    extents = {"all": [1], "channel": [1, x.shape[1], 1, 1], "element": [1, *x.shape[1:]]}
    if mode == "channel" and data_format[-1] == "C":
        extents["channel"] = [1, 1, 1, x.shape[-1]]
    if mode not in extents:
        raise ValueError(f"mode must be all, channel or element, but is {mode!r}")
    layer = name or core.unique_name("prelu")
    alpha = core.create_parameter(
        extents[mode], x.dtype, param_attr, initializer=Constant(0.25), layer=layer
    )
    above = core.op("relu", {"X": x})
    below = core.op("elementwise_mul", {"X": core.binary("elementwise_sub", x, above), "Y": alpha})
    return core.op("elementwise_add", {"X": above, "Y": below}, name=layer)


def continuous_value_model(input, cvm, use_cvm=True):
    """Rows whose first two numbers are how often something was shown and clicked: with ``use_cvm``
    these become log(shown + 1) and log(clicked + 1) - log(shown + 1), else they are cut off.

    ``cvm``: the counts of each sample, for which servers of real Paddle keep counts. Here counts
    are parts of a row that training leaves as they are.
    """
    if not use_cvm:
        return input[:, 2:]
    counts = log1p(input[:, 0:2])
    counts.stop_gradient = True
    shown, clicked = counts[:, 0:1], counts[:, 1:2]
    return concat([shown, clicked - shown, input[:, 2:]], axis=1)
