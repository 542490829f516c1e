"""Normalisations."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import several

__all__ = [*rows(globals()), "batch_norm", "layer_norm"]


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
    outs = ["SavedMean", "SavedVariance", "Y"] + (["ReserveSpace"] if training else [])
    learnt = (running_mean, running_var, weight, bias)
    return core.batch_norm_with(x, *learnt, attrs, outs, name)


def _layout(data_format):
    layouts = {"NC": "NCHW", "NCL": "NCHW", "NCDHW": "NCHW", "NLC": "NHWC", "NDHWC": "NHWC"}
    if data_format not in layouts:
        raise ValueError(f"data_format must name the axes, such as NCHW, but is {data_format!r}")
    return layouts[data_format]


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None):
    """Scale the last axes, those of ``normalized_shape``, to mean 0 and variance 1."""
    begin = x.ndim - len(several(normalized_shape))
    inputs = {"X": x, "Scale": weight, "Bias": bias}
    attrs = {"begin_norm_axis": begin, "epsilon": float(epsilon)}
    return core.op("layer_norm", inputs, attrs, name, outs=["Mean", "Variance", "Y"])[2]
