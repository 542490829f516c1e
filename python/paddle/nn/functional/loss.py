"""Losses."""

import _flotilla as core
from paddle._rows import rows

__all__ = [*rows(globals()), "softmax_with_cross_entropy"]


def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
):
    """-log of the probability that the softmax of ``logits`` gives the label, row by row."""
    loss, softmax = core.softmax_with_cross_entropy(
        logits, label, soft_label, ignore_index, numeric_stable_mode, axis
    )
    return (loss, softmax) if return_softmax else loss
