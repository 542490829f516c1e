"""Order, places and choices of elements."""

import _flotilla as core
from paddle._words import also, code
from paddle.base.framework import Variable

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "bucketize",
    "histogram",
    "index_sample",
    "index_select",
    "kthvalue",
    "masked_select",
    "mode",
    "nonzero",
    "searchsorted",
    "sort",
    "topk",
    "where",
]


def _arg(type, word, x, axis, keepdim, dtype, name):
    attrs = {
        "axis": 0 if axis is None else axis,
        "keepdims": keepdim,
        "flatten": axis is None,
        "dtype": code(dtype),
    }
    return core.op(type, {"X": x}, attrs, name=name, layer=word, stop_gradient=True)


def argmax(x, axis=None, keepdim=False, dtype="int64", name=None):
    """The place of the largest element along ``axis``, or among all."""
    return _arg("arg_max", "argmax", x, axis, keepdim, dtype, name)


def argmin(x, axis=None, keepdim=False, dtype="int64", name=None):
    """The place of the smallest element along ``axis``, or among all."""
    return _arg("arg_min", "argmin", x, axis, keepdim, dtype, name)


def argsort(x, axis=-1, descending=False, name=None):
    """The places of elements in ascending order along ``axis``."""
    attrs = {"axis": axis, "descending": descending}
    return core.op("argsort", {"X": x}, attrs, name=name, outs=["Out", "Indices"])[1]


def sort(x, axis=-1, descending=False, name=None):
    """The elements in ascending order along ``axis``."""
    attrs = {"axis": axis, "descending": descending}
    return core.op("argsort", {"X": x}, attrs, name, outs=["Out", "Indices"], layer="sort")[0]


@also(input="x")
def topk(x, k, axis=None, largest=True, sorted=True, name=None):
    """The k largest elements along ``axis``, and their places.

    >>> values, places = paddle.topk(x, k=5)
    """
    inputs, attrs = {"X": x}, {"axis": -1 if axis is None else axis}
    attrs.update(largest=largest, sorted=sorted)
    if isinstance(k, Variable):
        inputs["K"] = k
    else:
        attrs["k"] = k
    return tuple(core.op("top_k_v2", inputs, attrs, name=name, outs=["Out", "Indices"]))


def kthvalue(x, k, axis=None, keepdim=False, name=None):
    """The k-th smallest element along ``axis``, by default the last, and its place."""
    attrs = {"k": k, "axis": -1 if axis is None else axis, "keepdim": keepdim}
    return tuple(core.op("kthvalue", {"X": x}, attrs, name=name, outs=["Out", "Indices"]))


def mode(x, axis=-1, keepdim=False, name=None):
    """The most frequent element along ``axis``, of several the smallest, and its last place."""
    attrs = {"axis": axis, "keepdim": keepdim}
    return tuple(core.op("mode", {"X": x}, attrs, name=name, outs=["Out", "Indices"]))


def searchsorted(sorted_sequence, values, out_int32=False, right=False, name=None):
    """Where ``values`` would stand in rows that are sorted."""
    inputs = {"SortedSequence": sorted_sequence, "Values": values}
    attrs = {"out_int32": out_int32, "right": right}
    return core.op("searchsorted", inputs, attrs, name=name, stop_gradient=True)


def bucketize(x, sorted_sequence, out_int32=False, right=False, name=None):
    """Where the elements of ``x`` would stand in one sorted row."""
    return searchsorted(sorted_sequence, x, out_int32, right, name)


def bincount(x, weights=None, minlength=0, name=None):
    """How often each whole number from 0 on is in ``x``, or the sum of its weights."""
    inputs = {"X": x} if weights is None else {"X": x, "Weights": weights}
    return core.op("bincount", inputs, {"minlength": minlength}, name=name, stop_gradient=True)


def histogram(input, bins=100, min=0, max=0, name=None):
    """How many elements lie in each of ``bins`` equal parts of [min, max]."""
    attrs = {"bins": bins, "min": min, "max": max}
    return core.op("histogram", {"X": input}, attrs, name=name, stop_gradient=True)


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, y elsewhere."""
    return core.op("where", {"Condition": condition, "X": x, "Y": y}, name=name)


def nonzero(x, as_tuple=False):
    """The places of elements that are true or not zero, one row for each."""
    return core.op("where_index", {"Condition": x}, stop_gradient=True)


@also(input="x", dim="axis")
def index_select(x, index, axis=0, name=None):
    """The slices of ``x`` along ``axis`` that ``index`` names."""
    return core.op("index_select", {"X": x, "Index": index}, {"dim": axis}, name=name)


def index_sample(x, index):
    """From each row of ``x`` the elements that the row of ``index`` names."""
    return core.op("index_sample", {"X": x, "Index": index})


def masked_select(x, mask, name=None):
    """The elements of ``x`` where the mask is true."""
    return core.op("masked_select", {"X": x, "Mask": mask}, name=name)
