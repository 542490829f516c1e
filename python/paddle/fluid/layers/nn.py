"""Layers and functions of variables in the words of 1.x."""

import _flotilla
from paddle._rows import rows
from paddle.nn.functional.pooling import max_with_places
from paddle.tensor.creation import variable_of

from .more_nn import *  # noqa: F403
from .more_nn import __all__ as _more
from .ops import *  # noqa: F403
from .ops import __all__ as _ops

__all__ = [
    *rows(globals()),
    *("adaptive_pool2d", "dropout", "sign"),
    *_more,
    *_ops,
]


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pools of windows chosen so that the result has ``pool_size``."""
    if pool_type == "max":
        made = max_with_places(input, pool_size, name=name, adaptive=True)
        return made if require_index else made[0]
    if require_index:
        raise ValueError(f'require_index=True needs pool_type="max", but it is {pool_type!r}')
    return _flotilla.pool2d(input, pool_size, pool_type, adaptive=True, name=name)


def dropout(
    x,
    dropout_prob,
    is_test=False,
    seed=None,
    name=None,
    dropout_implementation="downgrade_in_infer",
):
    """Set elements to zero with a probability while training."""
    words = ("downgrade_in_infer", "upscale_in_train")
    if dropout_implementation not in words:
        raise ValueError(f"dropout_implementation must be one of {words}")
    upscale = dropout_implementation == "upscale_in_train"
    return _flotilla.dropout(x, dropout_prob, is_test, seed, upscale, name)


def sign(x):
    """1 for what is positive, -1 for what is negative, 0 for 0; ``x`` may be an array."""
    return _flotilla.op("sign", {"X": variable_of(x)})
