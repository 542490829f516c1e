"""Functions that move, join, cut and repeat the elements of tensors."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import also, axis_of, code, op_with_shape, several, shape_inputs
from paddle.base.framework import Variable

from .creation import fill

__all__ = [
    *rows(globals()),
    *("chunk", "crop", "expand_as", "moveaxis", "put_along_axis", "repeat_interleave"),
    *("scatter_nd", "slice", "split", "strided_slice", "t", "take_along_axis", "unbind"),
    *("unique", "unique_consecutive", "unstack"),
]


def _listed(vars):
    """core.op gives one variable by itself."""
    return vars if isinstance(vars, list) else [vars]


def unstack(x, axis=0, num=None):
    """The slices of ``x`` along an axis, which disappears."""
    attrs = {"axis": axis, "num": x.shape[axis] if num is None else num}
    return _listed(core.op("unstack", {"X": x}, attrs, outs=[("Y", attrs["num"])]))


@also(input="x")
def unbind(x, axis=0):
    """The slices of ``x`` along an axis, which disappears."""
    return _listed(core.op("unbind", {"X": x}, {"axis": axis}, outs=[("Out", x.shape[axis])]))


@also(input="x", dim="axis")
def split(x, num_or_sections, axis=0, name=None):
    """Cut ``x`` into so many equal parts, or parts of these extents; one may be -1.

    >>> a, b = paddle.split(x, [2, -1], axis=1)
    """
    equal = isinstance(num_or_sections, int)
    sections = [] if equal else list(num_or_sections)
    attrs = {"num": num_or_sections if equal else 0, "sections": sections, "axis": axis_of(x, axis)}
    count = num_or_sections if equal else len(sections)
    return _listed(core.op("split", {"X": x}, attrs, name=name, outs=[("Out", count)]))


def chunk(x, chunks, axis=0, name=None):
    """Cut ``x`` into so many equal parts."""
    return split(x, chunks, axis, name)


def moveaxis(x, source, destination, name=None):
    """Move axes to other places; the rest keeps its order."""
    moved = [axis % x.ndim for axis in several(source)]
    perm = [axis for axis in range(x.ndim) if axis not in moved]
    for place, axis in sorted(zip((to % x.ndim for to in several(destination)), moved)):
        perm.insert(place, axis)
    return op_with_shape("transpose2", {"X": x}, {"axis": perm}, name, "moveaxis")


@also(input="x")
def t(x, name=None):
    """The transpose of a matrix; vectors stay as they are."""
    if len(x.shape) < 2:
        return x
    return op_with_shape("transpose2", {"X": x}, {"axis": [1, 0]}, name, "t")


# ---- ranges


def _range_inputs(starts, ends, strides=None):
    """Attributes and inputs of the bounds of ranges, which may be variables."""
    inputs, attrs, flags = {}, {}, None
    for word, slot, bounds in (
        ("starts", "Starts", starts),
        ("ends", "Ends", ends),
        ("strides", "Strides", strides),
    ):
        if bounds is None:
            continue
        found, numbers = shape_inputs(bounds, slot + "Tensor", slot + "TensorList")
        inputs.update(found)
        attrs[word] = numbers
        unknown = [-1 if isinstance(b, Variable) else 1 for b in bounds] if numbers else []
        flags = unknown if flags is None else [min(pair) for pair in zip(flags, unknown)]
    return inputs, {**attrs, "infer_flags": flags}


@also(x="input")
def slice(input, axes, starts, ends):
    """Cut ranges out of some axes.

    >>> paddle.slice(x, axes=[0, 1], starts=[1, 0], ends=[3, 2])
    """
    inputs, attrs = _range_inputs(starts, ends)
    attrs["axes"] = [axis_of(input, axis) for axis in axes]
    return core.op("slice", {"Input": input, **inputs}, attrs)


@also(input="x")
def strided_slice(x, axes, starts, ends, strides, name=None):
    """Cut ranges with steps out of some axes; negative steps go backwards."""
    inputs, attrs = _range_inputs(starts, ends, strides)
    attrs["axes"] = [axis_of(x, axis) for axis in axes]
    return core.op("strided_slice", {"Input": x, **inputs}, attrs, name=name)


@also(target_tensor="y")
def expand_as(x, y, name=None):
    """Repeat the elements of ``x`` up to the shape of ``y``."""
    attrs = {"target_shape": list(y.shape)}
    return core.op("expand_as_v2", {"X": x, "Y": y}, attrs, name=name, layer="expand_as")


def crop(x, shape=None, offsets=None, name=None):
    """A box of ``x`` of ``shape``, from ``offsets`` on; -1 takes what is left along an axis.

    Both may be variables, or hold some.
    """
    extents, shape = shape_inputs([-1] * x.ndim if shape is None else shape, "Shape", "ShapeTensor")
    if offsets is None:
        offsets = [0] * x.ndim
    starts, offsets = shape_inputs(offsets, "Offsets", "OffsetsTensor")
    attrs = {"shape": shape, "offsets": offsets}
    return core.op("crop_tensor", {"X": x, **extents, **starts}, attrs, name=name)


def unique(
    x,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    dtype="int64",
    name=None,
):
    """The different elements of ``x`` in ascending order, or its different slices along ``axis``.

    Also, in this order, where each is in ``x`` first, where the elements of ``x`` stand among
    them, and how often each is there.

    >>> values, counts = paddle.unique(x, return_counts=True)
    """
    asked = {"return_index": return_index, "return_inverse": return_inverse}
    asked["return_counts"] = return_counts
    attrs = {"dtype": code(dtype), "axis": several(axis), "is_sorted": True, **asked}
    outs = ["Out", "Indices", "Index", "Counts"]
    out, *others = core.op("unique", {"X": x}, attrs, outs=outs, name=name, stop_gradient=True)
    wanted = [other for other, is_wanted in zip(others, asked.values()) if is_wanted]
    return (out, *wanted) if wanted else out


def unique_consecutive(
    x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None
):
    """Of elements that repeat one behind the other the first, or of slices along ``axis``."""
    asked = {"return_inverse": return_inverse, "return_counts": return_counts}
    attrs = {"dtype": code(dtype), "axis": several(axis), **asked}
    out, *others = core.op(
        "unique_consecutive",
        {"X": x},
        attrs,
        outs=["Out", "Index", "Counts"],
        name=name,
        stop_gradient=True,
    )
    wanted = [other for other, is_wanted in zip(others, asked.values()) if is_wanted]
    return (out, *wanted) if wanted else out


def take_along_axis(arr, indices, axis, broadcast=True):
    """The elements of ``arr`` that ``indices`` name along ``axis``, at their places.

    ``broadcast``: both are repeated along the other axes where they have extent one.
    """
    arr, indices, axis = _meet(arr, indices, axis, broadcast)
    return core.op("take_along_axis", {"Input": arr, "Index": indices}, {"Axis": axis})


def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """``arr`` with ``values`` where ``indices`` say along ``axis``; or, to "add", with both."""
    arr, indices, axis = _meet(arr, indices, axis, broadcast)
    if not isinstance(values, Variable):
        values = fill(indices.shape, values, arr.dtype)
    inputs = {"Input": arr, "Index": indices, "Value": _repeated(values, list(indices.shape))}
    attrs = {"Axis": axis, "Reduce": reduce, "Include_self": include_self}
    return core.op("put_along_axis", inputs, attrs)


def _meet(arr, indices, axis, broadcast):
    """Both, repeated to one shape but for ``axis``, which is counted from the front."""
    if arr.ndim != indices.ndim:
        raise ValueError(
            f"arr has {arr.ndim} axes and indices {indices.ndim}, but must have as many"
        )
    axis = axis + arr.ndim if axis < 0 else axis
    if broadcast:
        common = [b if a == 1 else a for a, b in zip(arr.shape, indices.shape)]
        indices = _repeated(indices, [*common[:axis], indices.shape[axis], *common[axis + 1 :]])
        arr = _repeated(arr, [*common[:axis], arr.shape[axis], *common[axis + 1 :]])
    return arr, indices, axis


def _repeated(x, shape):
    return (
        x
        if list(x.shape) == shape
        else core.op("expand_v2", {"X": x}, {"shape": shape}, layer="expand")
    )


def scatter_nd(index, updates, shape, name=None):
    """Zeros with ``updates`` added at the places that the rows of ``index`` hold."""
    inputs = {"X": fill(shape, 0, updates.dtype), "Index": index, "Updates": updates}
    return core.op("scatter_nd_add", inputs, name=name)


def repeat_interleave(x, repeats, axis=None, name=None):
    """Each slice along ``axis`` several times, one behind the other; without one, each element."""
    if axis is None:
        x, axis = op_with_shape("reshape2", {"X": x}, {"shape": [-1]}), 0
    inputs, attrs = {"X": x}, {"dim": axis}
    if isinstance(repeats, Variable):
        inputs["RepeatsTensor"] = repeats
    else:
        attrs["Repeats"] = repeats
    return core.op("repeat_interleave", inputs, attrs, name=name)
