"""What 2.x keeps here until it is settled."""

import _flotilla as core
from paddle._rows import rows

from .optimizer import LookAhead, ModelAverage  # noqa: F401

__all__ = [*rows(globals()), "LookAhead", "ModelAverage", "identity_loss"]

_REDUCTIONS = ("sum", "mean", "none")


def identity_loss(x, reduction="none"):
    """Says that ``x`` is a loss; ``reduction`` is "sum", "mean", "none" or their number."""
    if reduction in _REDUCTIONS:
        reduction = _REDUCTIONS.index(reduction)
    if reduction not in (0, 1, 2):
        raise ValueError(f'reduction must be "sum", "mean" or "none", but is {reduction!r}')
    return core.op("identity_loss", {"X": x}, {"reduction": reduction})
