"""Normalisations."""

import _flotilla as core
from paddle._words import several

__all__ = ["batch_norm", "instance_norm", "layer_norm"]


def batch_norm(
    x,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.9,
    epsilon=1e-05,
    data_format="NCHW",
    use_global_stats=None,
    name=None,
):
    """Scale channels to mean 0 and variance 1, those of the batch while training.

    Training moves ``running_mean`` and ``running_var`` towards those of the batch.
    """
    if use_global_stats is None:
        use_global_stats = not training
    attrs = {"momentum": float(momentum), "epsilon": float(epsilon), "is_test": not training}
    attrs["data_layout"] = data_format if data_format in ("NCHW", "NHWC") else _layout(data_format)
    attrs["use_global_stats"] = use_global_stats
    words = ["SavedMean", "SavedVariance", "Y"] + (["ReserveSpace"] if training else [])
    return batch_norm_op(x, running_mean, running_var, weight, bias, attrs, words, name)


def _layout(data_format):
    layouts = {"NC": "NCHW", "NCL": "NCHW", "NCDHW": "NCHW", "NLC": "NHWC", "NDHWC": "NHWC"}
    if data_format not in layouts:
        raise ValueError(f"data_format must name the axes, such as NCHW, but is {data_format!r}")
    return layouts[data_format]


def batch_norm_op(x, mean, variance, scale, bias, attrs, words, name=None, type="batch_norm"):
    """Append batch_norm with fresh variables for the slots ``words``; returns Y."""
    name = name or core.unique_name(type)
    block = core.main_program().current_block()
    fresh = {word: block.create_var(name=core.unique_name(name + ".tmp")) for word in words}
    inputs = {"X": x, "Mean": mean, "Variance": variance, "Scale": scale, "Bias": bias}
    inputs = {slot: var for slot, var in inputs.items() if var is not None}
    outputs = {"MeanOut": mean, "VarianceOut": variance, **fresh}
    block.append_op(type, inputs, outputs, attrs)
    return fresh["Y"]


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None):
    """Scale the last axes, those of ``normalized_shape``, to mean 0 and variance 1."""
    begin = x.ndim - len(several(normalized_shape))
    inputs = {"X": x, "Scale": weight, "Bias": bias}
    inputs = {slot: var for slot, var in inputs.items() if var is not None}
    attrs = {"begin_norm_axis": begin, "epsilon": float(epsilon)}
    return core.op("layer_norm", inputs, attrs, name, outs=["Mean", "Variance", "Y"])[2]


def instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.9,
    eps=1e-05,
    data_format="NCHW",
    name=None,
):
    """Scale each channel of each image to mean 0 and variance 1.

    The statistics are always those of the image; ``running_mean`` and ``running_var`` stay.
    """
    attrs = {"epsilon": float(eps)}
    return scaled("instance_norm", x, weight, bias, attrs, name)


def scaled(type, x, weight, bias, attrs, name=None, act=None):
    """Append instance_norm or group_norm; a weight and a bias may be missing."""
    inputs = {"X": x, "Scale": weight, "Bias": bias}
    inputs = {slot: var for slot, var in inputs.items() if var is not None}
    saved = {"instance_norm": ["SavedMean", "SavedVariance"], "group_norm": ["Mean", "Variance"]}
    made = core.op(type, inputs, attrs, name, outs=["Y", *saved[type]])[0]
    return made if act is None else core.op(act, {"X": made}, name=name)
