"""Losses of pairs and triples, of several labels, and of distributions."""

import _flotilla as core
from paddle._rows import rows
from paddle.tensor.math import minimum

from .activation import relu

__all__ = [*rows(globals()), "triplet_margin_with_distance_loss"]


def triplet_margin_with_distance_loss(
    input,
    positive,
    negative,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
    name=None,
):
    """max(0, distance to positive - distance to negative + margin).

    ``swap``: the negative's distance is the smaller one of those to input and positive.
    """
    distance = distance_function or pairwise_distance  # noqa: F821 - a row
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return core.reduced(relu(near - far + margin), reduction)
