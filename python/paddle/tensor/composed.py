"""Functions of tensors that are several ops."""

import math as _math

import numpy as np

import _flotilla as core
from paddle._rows import rows
from paddle._words import is_floating
from paddle.base.dtype import dtype as DType
from paddle.base.framework import Variable

from .creation import full, full_like, zeros_like
from .logic import equal, logical_not
from .manipulation import cast, concat, expand_as, flatten, flip, reshape, slice, transpose
from .math import add, divide, maximum, multiply, scale, subtract, sum
from .ops import abs, exp, log, sqrt, square
from .search import where

__all__ = [
    *rows(globals()),
    *("allclose", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shape"),
    *("broadcast_tensors", "deg2rad", "diagflat", "diff", "finfo", "frac", "hypot", "iinfo"),
    *("isclose", "lerp", "logaddexp", "masked_fill", "nan_to_num", "nanmean", "nansum"),
    *("rad2deg", "rot90", "trapezoid", "unflatten", "view", "view_as"),
]


# ---- arithmetic


def lerp(x, y, weight, name=None):
    """x + weight * (y - x). As in Paddle, no gradient goes to ``weight``."""
    if not isinstance(weight, Variable):
        weight = full([1], weight, x.dtype)
    return core.op("lerp", {"X": x, "Y": y, "Weight": weight}, name=name)


def hypot(x, y, name=None):
    """sqrt(x^2 + y^2)."""
    return sqrt(add(square(x), square(y)))


def logaddexp(x, y, name=None):
    """log(exp(x) + exp(y)), without overflow."""
    return add(maximum(x, y), log(exp(-abs(subtract(x, y))) + 1.0))


def deg2rad(x, name=None):
    """Radians from degrees."""
    return scale(x if is_floating(x) else cast(x, "float32"), _math.pi / 180)


def rad2deg(x, name=None):
    """Degrees from radians."""
    return scale(x if is_floating(x) else cast(x, "float32"), 180 / _math.pi)


def frac(x, name=None):
    """What is behind the point: x - trunc(x)."""
    return subtract(x, core.op("trunc", {"X": x}))


def trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The area under ``y`` by trapezoids, at the places ``x`` or ``dx`` apart."""
    if x is not None and dx is not None:
        raise ValueError("trapezoid takes one of x and dx")
    axis = axis + y.ndim if axis < 0 else axis
    extent = y.shape[axis]
    pairs = add(slice(y, [axis], [1], [extent]), slice(y, [axis], [0], [extent - 1]))
    if x is None:
        return sum(pairs, axis) * (0.5 if dx is None else 0.5 * dx)
    widths = diff(x, axis=axis if x.ndim > 1 else 0)
    if x.ndim == 1 and y.ndim > 1:
        widths = reshape(widths, [-1] + [1] * (y.ndim - 1 - axis))
    return sum(multiply(pairs, widths), axis) * 0.5


# ---- comparisons, and what is no number


def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether |x - y| <= atol + rtol * |y|, element by element."""
    return _closeness("isclose", x, y, rtol, atol, equal_nan, name)


def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """Whether all elements are close; see isclose."""
    return _closeness("allclose", x, y, rtol, atol, equal_nan, name)


def _closeness(type, x, y, rtol, atol, equal_nan, name):
    # Paddle keeps tolerances as text.
    attrs = {"rtol": str(rtol), "atol": str(atol), "equal_nan": equal_nan}
    return core.op(type, {"Input": x, "Other": y}, attrs, name=name, stop_gradient=True)


def _is_nan(x):
    return logical_not(equal(x, x))


def nan_to_num(x, nan=0.0, posinf=None, neginf=None, name=None):
    """Numbers for what is none: ``nan``, and the largest and smallest for infinities."""
    limits = np.finfo(x.dtype_name)
    most = float(limits.max) if posinf is None else posinf
    least = float(limits.min) if neginf is None else neginf
    x = where(_is_nan(x), full_like(x, nan), x)
    x = where(x > float(limits.max), full_like(x, most), x)
    return where(x < float(limits.min), full_like(x, least), x)


def nansum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum of what are numbers."""
    kept = where(_is_nan(x), zeros_like(x), x)
    return sum(kept if dtype is None else cast(kept, dtype), axis, keepdim=keepdim)


def nanmean(x, axis=None, keepdim=False, name=None):
    """The mean of what are numbers."""
    count = sum(cast(logical_not(_is_nan(x)), x.dtype), axis, keepdim=keepdim)
    return divide(nansum(x, axis, keepdim=keepdim), count)


def masked_fill(x, mask, value, name=None):
    """``value`` where the mask is true, x elsewhere."""
    filled = add(zeros_like(x), value) if hasattr(value, "block") else full_like(x, value)
    return where(mask if mask.shape == x.shape else expand_as(mask, x), filled, x)


# ---- shapes


def broadcast_shape(x_shape, y_shape):
    """The shape of what is computed from two shapes."""
    rank = max(len(x_shape), len(y_shape))
    made = []
    for i in range(-rank, 0):
        a = x_shape[i] if -i <= len(x_shape) else 1
        b = y_shape[i] if -i <= len(y_shape) else 1
        if a != b and 1 not in (a, b) and -1 not in (a, b):
            raise ValueError(f"{list(x_shape)} and {list(y_shape)} do not go together: {a}, {b}")
        made.append(b if a == 1 else a if b == 1 else max(a, b))
    return made


def broadcast_tensors(input, name=None):
    """The tensors, each repeated to the shape of all."""
    return core.op("broadcast_tensors", {"X": input}, outs=[("Out", len(input))], name=name)


def _at_least(rank, inputs, fill):
    made = [reshape(one, fill(list(one.shape))) if one.ndim < rank else one for one in inputs]
    return made[0] if len(made) == 1 else made


def atleast_1d(*inputs, name=None):
    """The tensors with one axis or more."""
    return _at_least(1, inputs, lambda extents: [1])


def atleast_2d(*inputs, name=None):
    """The tensors with two axes or more; new ones stand in front."""
    return _at_least(2, inputs, lambda extents: [1] * (2 - len(extents)) + extents)


def atleast_3d(*inputs, name=None):
    """The tensors with three axes or more; [n] becomes [1, n, 1], and [m, n] becomes [m, n, 1]."""
    return _at_least(3, inputs, lambda extents: ([1] * (2 - len(extents)) + extents) + [1])


def unflatten(x, axis, shape, name=None):
    """One axis cut into several."""
    axis = axis + x.ndim if axis < 0 else axis
    extents = list(x.shape)
    return reshape(x, extents[:axis] + list(shape) + extents[axis + 1 :])


def view(x, shape_or_dtype, name=None):
    """x in another shape."""
    if not isinstance(shape_or_dtype, (list, tuple)):
        raise ValueError("view as another dtype is not there yet; cast converts the elements")
    return reshape(x, shape_or_dtype)


def view_as(x, other, name=None):
    """x in the shape of another tensor."""
    return reshape(x, list(other.shape))


def diff(x, n=1, axis=-1, prepend=None, append=None, name=None):
    """Differences of neighbours, n times."""
    axis = axis + x.ndim if axis < 0 else axis
    parts = [one for one in (prepend, x, append) if one is not None]
    x = concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        extent = x.shape[axis]
        x = subtract(slice(x, [axis], [1], [extent]), slice(x, [axis], [0], [extent - 1]))
    return x


def diagflat(x, offset=0, name=None):
    """A matrix with the elements of x on its diagonal."""
    from .creation import diag

    return diag(flatten(x) if x.ndim > 1 else x, offset)


def rot90(x, k=1, axes=(0, 1), name=None):
    """Turned by 90 degrees k times in the plane of two axes."""
    first, second = (axis + x.ndim if axis < 0 else axis for axis in axes)
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(flip(x, first), second)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return transpose(flip(x, second), order) if k % 4 == 1 else flip(transpose(x, order), second)


# ---- element types


def finfo(dtype):
    """The limits of a type of floating-point numbers."""
    return np.finfo(DType(dtype).name)


def iinfo(dtype):
    """The limits of a type of whole numbers."""
    return np.iinfo(DType(dtype).name)
