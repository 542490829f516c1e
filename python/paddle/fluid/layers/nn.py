"""Layers and functions of variables in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import also, named, op_with_shape, several, shape_inputs
from paddle.base.framework import Variable
from paddle.fluid.input import one_hot_op
from paddle.nn.functional import common
from paddle.nn.functional.common import sequence_mask, unfold  # noqa: F401
from paddle.nn.functional.loss import log_loss  # noqa: F401
from paddle.nn.functional.pooling import adaptive_max
from paddle.static.nn.common import (  # noqa: F401
    batch_norm,
    continuous_value_model,
    conv2d,
    fc,
    layer_norm,
)
from paddle.static.nn.common import prelu as _prelu
from paddle.static.nn.data_norm import data_norm  # noqa: F401
from paddle.tensor import manipulation
from paddle.tensor.attribute import rank, shape  # noqa: F401
from paddle.tensor.creation import meshgrid as _meshgrid
from paddle.tensor.creation import tril, triu  # noqa: F401
from paddle.tensor.composed import cross as _cross
from paddle.tensor.composed import kron as _kron
from paddle.tensor.composed import shard_index  # noqa: F401
from paddle.tensor.linalg import addmm as _addmm
from paddle.tensor.linalg import bmm, dot  # noqa: F401
from paddle.tensor.logic import (  # noqa: F401
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from paddle.tensor.manipulation import (  # noqa: F401
    flip,
    gather_nd,
    roll,
    scatter_nd,
    scatter_nd_add,
    slice,
    squeeze,
    strided_slice,
    t,
    transpose,
    unbind,
    unsqueeze,
    unstack,
)
from paddle.tensor.math import logsumexp as _logsumexp
from paddle.tensor.math import scale  # noqa: F401
from paddle.tensor.search import index_sample, index_select  # noqa: F401

from .more_nn import *  # noqa: F403
from .more_nn import __all__ as _more
from .ops import *  # noqa: F403
from .ops import __all__ as _ops

__all__ = [
    *("continuous_value_model", "data_norm"),
    *("adaptive_pool2d", "batch_norm", "clip", "clip_by_norm", "conv2d", "cumsum", "dropout"),
    *("elementwise_add", "elementwise_div", "elementwise_floordiv", "elementwise_max"),
    *("elementwise_min", "elementwise_mod", "elementwise_mul", "elementwise_pow"),
    *("elementwise_sub", "embedding", "expand", "expand_as", "fc", "flatten", "gather"),
    *("gather_nd", "get_tensor_from_selected_rows", "l2_normalize", "label_smooth"),
    *("layer_norm", "log_loss", "log_softmax", "logical_and", "logical_not", "logical_or"),
    *("logical_xor", "matmul", "mean", "merge_selected_rows", "mul", "one_hot", "pad"),
    *("pad2d", "pool2d", "pow", "prelu", "rank", "reduce_all", "reduce_any", "reduce_max"),
    *("reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "reshape", "scale"),
    *("scatter", "shape", "size", "slice", "softmax", "split", "squeeze", "stack"),
    *("strided_slice", "sum", "topk", "transpose", "unbind", "unsqueeze", "unstack", "where"),
    *("scatter_nd", "scatter_nd_add"),
    *("autoincreased_step_counter", "cos_sim", "index_sample", "sequence_mask", "shard_index"),
    *("addmm", "clamp", "cross", "elementwise_equal", "kron", "soft_relu", "unfold"),
    *("bmm", "dot", "flip", "index_select", "logsumexp", "meshgrid", "roll", "t", "tril", "triu"),
    *_more,
    *_ops,
]


def pool2d(
    input,
    pool_size=-1,
    pool_type="max",
    pool_stride=1,
    pool_padding=0,
    global_pooling=False,
    use_cudnn=True,
    ceil_mode=False,
    name=None,
    exclusive=True,
    data_format="NCHW",
):
    """The largest or the mean element of windows of images; ``global_pooling``: of whole ones."""
    return core.pool2d(
        *(input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, ceil_mode),
        exclusive=exclusive,
        name=name,
        data_format=data_format,
    )


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pools of windows chosen so that the result has ``pool_size``."""
    if require_index:
        raise ValueError("require_index=True is not there yet: pools give values without places")
    if pool_type == "max":
        return adaptive_max(input, (several(pool_size) * 2)[:2], name)
    return core.pool2d(input, pool_size, pool_type, adaptive=True, name=name)


def embedding(
    input,
    size,
    is_sparse=False,
    is_distributed=False,
    padding_idx=None,
    param_attr=None,
    dtype="float32",
):
    """The rows of a table of ``size`` [rows, width] that ``input``, [..., 1], names."""
    return core.embedding(
        input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype, v1=True
    )


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


# ---- arithmetic


def _elementwise(word):
    def function(x, y, axis=-1, act=None, name=None):
        return core.op(word, {"X": x, "Y": y}, {"axis": axis}, name=name, act=act)

    doc = "Element by element; ``axis``: where the axes of y stand in those of x."
    return named(function, word, doc)


elementwise_add = _elementwise("elementwise_add")
elementwise_sub = _elementwise("elementwise_sub")
elementwise_mul = _elementwise("elementwise_mul")
elementwise_div = _elementwise("elementwise_div")
elementwise_max = _elementwise("elementwise_max")
elementwise_min = _elementwise("elementwise_min")
elementwise_pow = _elementwise("elementwise_pow")
elementwise_mod = _elementwise("elementwise_mod")
elementwise_floordiv = _elementwise("elementwise_floordiv")


def _reduce(word):
    def function(input, dim=None, keep_dim=False, name=None):
        return core.reduce(word, input, dim, keep_dim, name, v1=True)

    return named(function, word, "Over the axes ``dim``, one or several, or over all.")


reduce_sum = _reduce("reduce_sum")
reduce_mean = _reduce("reduce_mean")
reduce_max = _reduce("reduce_max")
reduce_min = _reduce("reduce_min")
reduce_prod = _reduce("reduce_prod")
reduce_all = _reduce("reduce_all")
reduce_any = _reduce("reduce_any")


def prelu(x, mode, param_attr=None, name=None):
    """x above zero, alpha * x below; one alpha for ``all``, each ``channel`` or ``element``."""
    return _prelu(x, mode, param_attr, name=name)


def sum(x):
    """The sum of several tensors."""
    return core.op("sum", {"X": several(x)})


def mean(x, name=None):
    """The mean of all elements."""
    return core.op("mean", {"X": x}, name=name)


def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The product of matrices: the first axes of each are rows, the others columns."""
    attrs = {"x_num_col_dims": x_num_col_dims, "y_num_col_dims": y_num_col_dims}
    return core.op("mul", {"X": x, "Y": y}, attrs, name=name)


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """alpha times the product of the matrices in the last two axes."""
    attrs = {"transpose_X": transpose_x, "transpose_Y": transpose_y, "alpha": float(alpha)}
    return core.op("matmul", {"X": x, "Y": y}, attrs, name=name)


def pow(x, factor=1.0, name=None):
    """x to the power of ``factor``, a number or a tensor of one element."""
    if isinstance(factor, Variable):
        return core.op("elementwise_pow", {"X": x, "Y": factor}, {"axis": -1}, name=name)
    return core.op("pow", {"X": x}, {"factor": float(factor)}, name=name)


def clip(x, min, max, name=None):
    """x, but at least ``min`` and at most ``max``."""
    return core.op("clip", {"X": x}, {"min": float(min), "max": float(max)}, name=name)


def clip_by_norm(x, max_norm, name=None):
    """x scaled so that its norm is at most ``max_norm``."""
    return core.op("clip_by_norm", {"X": x}, {"max_norm": float(max_norm)}, name=name)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """Divide slices along ``axis`` by the root of the sum of their squares and epsilon."""
    squares = core.reduce("reduce_sum", core.op("square", {"X": x}), axis, True)
    return elementwise_mul(x, core.op("rsqrt", {"X": scale(squares, 1.0, epsilon)}), name=name)


def cumsum(x, axis=None, exclusive=None, reverse=None):
    """The sums of the elements so far along ``axis``; ``exclusive``: without the element itself."""
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return core.op("cumsum", {"X": x}, attrs)


# ---- probabilities


def softmax(input, use_cudnn=False, name=None, axis=-1):
    """Scale slices along ``axis`` to positive numbers whose sum is one."""
    return core.op("softmax", {"X": input}, {"axis": axis}, name=name)


def log_softmax(input, axis=None, dtype=None, name=None):
    """The logarithm of softmax."""
    made = core.op("softmax", {"X": input}, {"axis": -1 if axis is None else axis})
    return core.op("log", {"X": made}, name=name)


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """(1 - epsilon) * label + epsilon * prior_dist, by default the same for all classes."""
    return common.label_smooth(label, prior_dist, epsilon, name)


def one_hot(input, depth, allow_out_of_range=False):
    """Vectors with a one at the place that ``input``, [..., 1], names."""
    return one_hot_op("one_hot", input, depth, allow_out_of_range)


def topk(input, k, name=None):
    """The k largest elements of each row, and their places; no gradient flows through them."""
    outs = ["Out", "Indices"]
    return tuple(core.op("top_k", {"X": input}, {"k": k}, name=name, outs=outs, stop_gradient=True))


# ---- forms


def flatten(x, axis=1, name=None):
    """A matrix: the axes before ``axis`` are its rows, the others its columns."""
    return op_with_shape("flatten2", {"X": x}, {"axis": axis}, name, "flatten")


@also(x="input", axis="dim")
def split(input, num_or_sections, dim=-1, name=None):
    """Cut ``input`` into so many equal parts, or parts of these extents; one may be -1."""
    return manipulation.split(input, num_or_sections, dim, name)


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):  # noqa: F811
    """The elements of ``x`` in another shape. 0 copies an extent, one -1 is worked out."""
    inputs, extents = shape_inputs(shape, "Shape", "ShapeTensor")
    if isinstance(actual_shape, Variable):
        inputs = {"Shape": actual_shape}
    return op_with_shape("reshape2", {"X": x, **inputs}, {"shape": extents}, name, act=act)


def stack(x, axis=0):
    """Join tensors of one shape along a new axis."""
    return core.op("stack", {"X": several(x)}, {"axis": axis})


def expand(x, expand_times, name=None):
    """Repeat ``x`` so many times along each axis."""
    inputs, times = shape_inputs(expand_times, "ExpandTimes", "expand_times_tensor")
    return core.op("expand", {"X": x, **inputs}, {"expand_times": times}, name=name)


def expand_as(x, target_tensor, name=None):
    """Repeat ``x`` up to the shape of another tensor."""
    return core.op("expand_as", {"X": x, "target_tensor": target_tensor}, name=name)


def gather(input, index, overwrite=True):
    """The rows of ``input`` that ``index`` names."""
    return core.op("gather", {"X": input, "Index": index}, {"overwrite": overwrite})


def scatter(input, index, updates, name=None, overwrite=True):
    """``input`` with the rows that ``index`` names replaced by, or added to, ``updates``."""
    inputs = {"X": input, "Ids": index, "Updates": updates}
    return core.op("scatter", inputs, {"overwrite": overwrite}, name=name)


def pad(x, paddings, pad_value=0.0, name=None):
    """Add elements around: for each axis how many before and after."""
    attrs = {"paddings": list(paddings), "pad_value": float(pad_value)}
    return core.op("pad", {"X": x}, attrs, name=name)


def pad2d(
    input, paddings=(0, 0, 0, 0), mode="constant", pad_value=0.0, data_format="NCHW", name=None
):
    """Add elements around images: top, bottom, left, right."""
    attrs = {"paddings": list(paddings), "mode": mode, "pad_value": float(pad_value)}
    attrs["data_format"] = data_format
    return core.op("pad2d", {"X": input}, attrs, name=name)


def size(input):
    """The number of elements, as a tensor."""
    return core.op("size", {"Input": input}, stop_gradient=True)


def where(condition):
    """The places of elements that are true, one row for each."""
    return core.op("where_index", {"Condition": condition}, stop_gradient=True)


def get_tensor_from_selected_rows(x, name=None):
    """The values of a sparse gradient."""
    return core.op("get_tensor_from_selected_rows", {"X": x}, name=name)


def merge_selected_rows(x, name=None):
    """A sparse gradient with each row once."""
    return core.op("merge_selected_rows", {"X": x}, name=name)


def elementwise_equal(x, y, name=None):
    """Whether x == y, element by element."""
    return core.op("equal", {"X": x, "Y": y}, name=name, stop_gradient=True)


def addmm(input, x, y, alpha=1.0, beta=1.0, name=None):
    """beta * input + alpha * x @ y."""
    return _addmm(input, x, y, beta, alpha, name)


def clamp(input, min=None, max=None, output=None, name=None):
    """At least ``min`` and at most ``max``."""
    least = -3.4028234663852886e38 if min is None else float(min)
    most = 3.4028234663852886e38 if max is None else float(max)
    return core.op("clip", {"X": input}, {"min": least, "max": most}, name=name, out=output)


def cross(input, other, dim=None):
    """The cross product along an axis of extent 3, by default the first."""
    return _cross(input, other, 9 if dim is None else dim)


def kron(x, y, out=None, name=None):
    """Blocks of y, one for each element of x and scaled by it."""
    made = _kron(x, y)
    return made if out is None else core.op("assign", {"X": made}, out=out)


def soft_relu(x, threshold=40.0, name=None):
    """log(1 + exp(x)), with x kept between -threshold and threshold."""
    return core.op("soft_relu", {"X": x}, {"threshold": float(threshold)}, name=name)


def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """log(sum(exp(x))) over the axes ``dim``, one or several, or over all."""
    made = _logsumexp(x, dim, keepdim, name)
    return made if out is None else core.op("assign", {"X": made}, out=out)


def meshgrid(input, name=None):
    """Coordinates of a grid from those of its axes, one tensor for each axis."""
    return _meshgrid(input, name=name)


def cos_sim(X, Y):
    """The cosines of the angles between the rows of two tensors, [rows, 1]."""
    return core.op("cos_sim", {"X": X, "Y": Y}, outs=["Out", "XNorm", "YNorm"])[0]


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A whole number that counts the runs of the program: begin - 1 + step in the first."""
    name = counter_name or "@STEP_COUNTER@"
    block = core.main_program().global_block()
    if block.has_var(name):
        return block.var(name)
    counter = core.create_global_var([1], begin - 1, "int64", True, name)
    block._prepend_op("increment", {"X": [name]}, {"Out": [name]}, {"step": float(step)})
    counter.stop_gradient = True
    return counter


__getattr__, __dir__ = names_of(__name__)
