"""Initializers: how a parameter gets its first value."""

import math

from paddle._rows import rows

rows(globals())


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights before an activation should be larger than without it."""
    slope = 0.01 if param is None else float(param)
    convolutions = [f"conv{n}d{kind}" for kind in ("", "_transpose") for n in (1, 2, 3)]
    gains = {
        **dict.fromkeys(["sigmoid", "linear", *convolutions], 1.0),
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1 + slope**2)),
        "selu": 3.0 / 4,
    }
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity must be one of {', '.join(gains)}, but is {nonlinearity!r}")
    return gains[nonlinearity]
