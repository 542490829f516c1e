"""Layers and functions of variables in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._rows import rows
from paddle._words import op_with_shape, several, shape_inputs
from paddle.base.framework import Variable
from paddle.nn.functional.pooling import adaptive_max
from paddle.tensor.composed import kron as _kron
from paddle.tensor.math import logsumexp as _logsumexp
from paddle.tensor.math import multiply as _multiply
from paddle.tensor.math import scale as _scale

from .more_nn import *  # noqa: F403
from .more_nn import __all__ as _more
from .ops import *  # noqa: F403
from .ops import __all__ as _ops

__all__ = [
    *rows(globals()),
    *("adaptive_pool2d", "dropout", "kron", "l2_normalize"),
    *("log_softmax", "logsumexp", "pow", "reshape"),
    *_more,
    *_ops,
]


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pools of windows chosen so that the result has ``pool_size``."""
    if require_index:
        raise ValueError("require_index=True is not there yet: pools give values without places")
    if pool_type == "max":
        return adaptive_max(input, (several(pool_size) * 2)[:2], name)
    return core.pool2d(input, pool_size, pool_type, adaptive=True, name=name)


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
    return core.dropout(x, dropout_prob, is_test, seed, upscale, name)


def pow(x, factor=1.0, name=None):
    """x to the power of ``factor``, a number or a tensor of one element."""
    if isinstance(factor, Variable):
        return core.op("elementwise_pow", {"X": x, "Y": factor}, {"axis": -1}, name=name)
    return core.op("pow", {"X": x}, {"factor": float(factor)}, name=name)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """Divide slices along ``axis`` by the root of the sum of their squares and epsilon."""
    squares = core.reduce("reduce_sum", core.op("square", {"X": x}), axis, True)
    return _multiply(x, core.op("rsqrt", {"X": _scale(squares, 1.0, epsilon)}), name=name)


def log_softmax(input, axis=None, dtype=None, name=None):
    """The logarithm of softmax."""
    made = core.op("softmax", {"X": input}, {"axis": -1 if axis is None else axis})
    return core.op("log", {"X": made}, name=name)


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """The elements of ``x`` in another shape. 0 copies an extent, one -1 is worked out."""
    inputs, extents = shape_inputs(shape, "Shape", "ShapeTensor")
    if isinstance(actual_shape, Variable):
        inputs = {"Shape": actual_shape}
    return op_with_shape("reshape2", {"X": x, **inputs}, {"shape": extents}, name, act=act)


def kron(x, y, out=None, name=None):
    """Blocks of y, one for each element of x and scaled by it."""
    made = _kron(x, y)
    return made if out is None else core.op("assign", {"X": made}, out=out)


def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """log(sum(exp(x))) over the axes ``dim``, one or several, or over all."""
    made = _logsumexp(x, dim, keepdim, name)
    return made if out is None else core.op("assign", {"X": made}, out=out)


__getattr__, __dir__ = names_of(__name__)
