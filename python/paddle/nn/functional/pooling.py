"""Pools: the largest or the mean element of windows."""

import math

import _flotilla as core
from paddle._rows import rows
from paddle._words import several
from paddle.tensor.manipulation import squeeze, unsqueeze

__all__ = rows(globals())


def _no_mask(return_mask):
    if return_mask:
        raise ValueError("return_mask=True is not there yet: pools give values without places")


def _both(value):
    """One number as two, for height and width."""
    return (several(value) * 2)[:2]


def _pool2d(x, type, size, stride, padding, name, return_mask=False, divisor=None, **options):
    """A pool over images."""
    _no_mask(return_mask)
    made = core.pool2d(x, size, type, stride, padding, name=name, **options)
    return made if divisor is None else made * math.prod(_both(size)) / divisor


def _pool1d(x, type, size, stride, padding, *rest, **options):
    """A pool over sequences, as images of height one."""
    size, stride = ([1, *several(value)[:1]] for value in (size, stride))
    padding = padding if isinstance(padding, str) else [0, 0, *_both(padding)]
    made = _pool2d(unsqueeze(x, 2), type, size, stride, padding, *rest, **options)
    return squeeze(made, 2)


def adaptive_max(x, size, name=None):
    """The largest elements of windows chosen so that the result has ``size``."""
    attrs = {"ksize": size, "strides": [1, 1], "paddings": [0, 0], "adaptive": True}
    outs = ["Out", "Mask"]
    return core.op("max_pool2d_with_index", {"X": x}, attrs, name=name, outs=outs)[0]


def _adaptive2d(x, type, size, name, return_mask=False, data_format="NCHW"):
    """Windows chosen so that the result has ``size``; None keeps an extent."""
    _no_mask(return_mask)
    extents = x.shape[2:] if data_format == "NCHW" else x.shape[1:]
    wanted = _both([None] if size is None else size)
    size = [extent if one is None else one for extent, one in zip(extents, wanted)]
    if type == "max":
        return adaptive_max(x, size, name)
    return core.pool2d(x, size, type, adaptive=True, name=name, data_format=data_format)


def _adaptive1d(x, type, size, name, return_mask=False):
    """The same of sequences."""
    _no_mask(return_mask)
    return squeeze(_adaptive2d(unsqueeze(x, 2), type, [1, size], name), 2)


def _unpool(x, indices, size, stride, padding, output_size, name, data_format):
    """The opposite of a pool that gives places."""
    if data_format != "NCHW":
        raise ValueError(f'data_format must be "NCHW", but is {data_format!r}')
    attrs = {"unpooling_type": "max", "ksize": _both(size), "strides": _both(stride)}
    attrs["paddings"], attrs["output_size"] = _both(padding), several(output_size)[-2:]
    return core.op("unpool", {"X": x, "Indices": indices}, attrs, name=name)
