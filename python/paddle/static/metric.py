"""Metrics that are part of a program."""

from paddle._rows import rows

from .makers import create_global_var

__all__ = [*rows(globals()), "ctr_metric_bundle"]


def ctr_metric_bundle(input, label, ins_tag_weight=None):
    """Sums over all batches, of what metrics of click models need, for fleet.metrics.

    ``input``: the chances of clicks. Returns (squared errors, absolute errors, chances, sigmoids of
    chances, clicks, samples): variables that keep their values from run to run.
    """
    import paddle

    real = paddle.cast(label, "float32")
    weight = paddle.ones_like(real) if ins_tag_weight is None else ins_tag_weight
    error = input - real
    parts = [
        *(paddle.square(error), paddle.abs(error), input),
        *(paddle.nn.functional.sigmoid(input) * weight, real, weight),
    ]
    sums = []
    for part in parts:
        kept = create_global_var([1], 0.0, "float32", persistable=True)
        paddle.assign(kept + paddle.reshape(paddle.sum(part), [1]), kept)
        kept.stop_gradient = True
        sums.append(kept)
    return tuple(sums)
