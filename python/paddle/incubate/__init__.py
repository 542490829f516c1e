"""What 2.x keeps here until it is settled."""

import _flotilla as core
from paddle._names import names_of

from .optimizer import LookAhead, ModelAverage  # noqa: F401

__all__ = [
    *("LookAhead", "ModelAverage", "identity_loss"),
    *("softmax_mask_fuse", "softmax_mask_fuse_upper_triangle"),
]

_REDUCTIONS = ("sum", "mean", "none")


def identity_loss(x, reduction="none"):
    """Says that ``x`` is a loss; ``reduction`` is "sum", "mean", "none" or their number."""
    if reduction in _REDUCTIONS:
        reduction = _REDUCTIONS.index(reduction)
    if reduction not in (0, 1, 2):
        raise ValueError(f'reduction must be "sum", "mean" or "none", but is {reduction!r}')
    return core.op("identity_loss", {"X": x}, {"reduction": reduction})


def softmax_mask_fuse(x, mask, name=None):
    """The softmax of x + mask, where all heads have one mask."""
    return core.op("fused_softmax_mask", {"X": x, "Mask": mask}, name=name)


def softmax_mask_fuse_upper_triangle(x):
    """The softmax of each row up to the diagonal."""
    return core.op("fused_softmax_mask_upper_triangle", {"X": x})


__getattr__, __dir__ = names_of(__name__, ["optimizer"])
