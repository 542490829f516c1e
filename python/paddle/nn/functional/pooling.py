"""Pools: the largest or the mean element of windows."""

import math

import _flotilla as core
from paddle._rows import rows
from paddle._words import several
from paddle.tensor.manipulation import squeeze, unsqueeze

__all__ = rows(globals())


def _both(value):
    """One number as two, for height and width."""
    return (several(value) * 2)[:2]


def _pool2d(x, type, size, stride, padding, name, return_mask=False, divisor=None, **options):
    """A pool over images."""
    if return_mask:
        return _with_places(x, size, stride, padding, name, **options)
    made = core.pool2d(x, size, type, stride, padding, name=name, **options)
    return made if divisor is None else made * math.prod(_both(size)) / divisor


def _with_places(x, size, stride, padding, name, ceil_mode=False, data_format="NCHW"):
    """The largest elements, and where they lie, by an operator that has fewer options."""
    sides = several(0 if padding == "VALID" else padding)
    if len(sides) == 4 and sides[::2] == sides[1::2]:
        sides = sides[::2]
    if isinstance(sides[0], str) or len(sides) > 2:
        raise ValueError(f"return_mask=True needs the same padding at both ends, not {padding!r}")
    if data_format != "NCHW" or ceil_mode:
        found = "ceil_mode=True" if ceil_mode else f"data_format={data_format!r}"
        raise ValueError(f"return_mask=True is not implemented with {found}")
    return max_with_places(x, size, stride, sides, name)


def max_with_places(x, size, stride=1, padding=0, name=None, adaptive=False):
    """The largest elements of windows, and where each lies in its channel."""
    attrs = {"ksize": _both(size), "strides": _both(stride), "paddings": _both(padding)}
    attrs["adaptive"] = adaptive
    return core.op("max_pool2d_with_index", {"X": x}, attrs, name=name, outs=["Out", "Mask"])


def _pool1d(x, type, size, stride, padding, *rest, **options):
    """A pool over sequences, as images of height one."""
    size, stride = ([1, *several(value)[:1]] for value in (size, stride))
    padding = padding if isinstance(padding, str) else [0, 0, *_both(padding)]
    return _flat(_pool2d(unsqueeze(x, 2), type, size, stride, padding, *rest, **options))


def _flat(made):
    """Images of height one as sequences, with their places where there are any."""
    return [squeeze(one, 2) for one in made] if isinstance(made, list) else squeeze(made, 2)


def _adaptive2d(x, type, size, name, return_mask=False, data_format="NCHW"):
    """Windows chosen so that the result has ``size``; None keeps an extent."""
    extents = x.shape[2:] if data_format == "NCHW" else x.shape[1:]
    wanted = _both([None] if size is None else size)
    size = [extent if one is None else one for extent, one in zip(extents, wanted)]
    if type == "max":
        made = max_with_places(x, size, name=name, adaptive=True)
        return made if return_mask else made[0]
    return core.pool2d(x, size, type, adaptive=True, name=name, data_format=data_format)


def _adaptive1d(x, type, size, name, return_mask=False):
    """The same of sequences."""
    return _flat(_adaptive2d(unsqueeze(x, 2), type, [1, size], name, return_mask))


def _unpool(x, indices, size, stride, padding, output_size, name, data_format):
    """The opposite of a pool that gives places."""
    if data_format != "NCHW":
        raise ValueError(f'data_format must be "NCHW", but is {data_format!r}')
    attrs = {"unpooling_type": "max", "ksize": _both(size), "strides": _both(stride)}
    attrs["paddings"], attrs["output_size"] = _both(padding), several(output_size)[-2:]
    return core.op("unpool", {"X": x, "Indices": indices}, attrs, name=name)
