"""Columns scaled by what all batches so far summed up."""

import _flotilla as core
from paddle.base.initializer import Constant


def data_norm(
    input,
    act=None,
    epsilon=1e-05,
    param_attr=None,
    data_layout="NCHW",
    in_place=False,
    name=None,
    moving_mean_name=None,
    moving_variance_name=None,
    do_model_average_for_mean_and_var=True,
    slot_dim=-1,
    sync_stats=False,
    summary_decay_rate=0.9999999,
    enable_scale_and_shift=False,
):
    """Each column less its mean, times one over its deviation, both from summaries of all batches.

    The summaries are the parameters ``<name>.batch_size``, ``.batch_sum`` and
    ``.batch_square_sum``; their gradients are what a batch adds to them. ``param_attr`` may be a
    dict with first values ``batch_size``, ``batch_sum``, ``batch_square``, and with
    ``enable_scale_and_shift`` also ``scale_w`` and ``bias``. ``slot_dim``: columns of a slot, whose
    first number says how often it was shown; slots never shown give zeros.
    """
    if data_layout not in ("NCHW", "NHWC"):
        raise ValueError(f"data_layout must be NCHW or NHWC, but is {data_layout!r}")
    first = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4, "scale_w": 1.0, "bias": 0.0}
    first.update(param_attr if isinstance(param_attr, dict) else {})
    columns, layer = input.shape[1 if data_layout == "NCHW" else -1], name or "dn"

    def parameter(word, value):
        attr = {"name": f"{layer}.{word}", "initializer": Constant(float(value))}
        return core.create_parameter([columns], input.dtype, core.ParamAttr(**attr))

    inputs = {"X": input}
    if enable_scale_and_shift:
        inputs["scale_w"] = parameter("scale_w", first["scale_w"])
        inputs["bias"] = parameter("bias", first["bias"])
    inputs["BatchSize"] = parameter("batch_size", first["batch_size"])
    inputs["BatchSum"] = parameter("batch_sum", first["batch_sum"])
    inputs["BatchSquareSum"] = parameter("batch_square_sum", first["batch_square"])
    attrs = {
        "epsilon": float(epsilon),
        "slot_dim": slot_dim,
        "sync_stats": sync_stats,
        "summary_decay_rate": float(summary_decay_rate),
        "enable_scale_and_shift": enable_scale_and_shift,
    }
    outs = ["Y", "Means", "Scales"]
    out = core.op("data_norm", inputs, attrs, layer="data_norm", outs=outs)[0]
    return out if act is None else core.op(act, {"X": out})
