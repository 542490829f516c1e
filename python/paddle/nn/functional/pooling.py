"""Pools: the largest or the mean element of windows."""

import _flotilla as core
from paddle._words import several
from paddle.tensor.manipulation import squeeze, unsqueeze

__all__ = [
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d"),
    *("avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d", "max_unpool2d"),
]


def _no_mask(return_mask):
    if return_mask:
        raise ValueError("return_mask=True is not there yet: pools give values without places")


def max_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    return_mask=False,
    ceil_mode=False,
    data_format="NCHW",
    name=None,
):
    """The largest element of windows of images. ``stride``: by default the window's size."""
    _no_mask(return_mask)
    stride = kernel_size if stride is None else stride
    return core.pool2d(
        *(x, kernel_size, "max", stride, padding),
        ceil_mode=ceil_mode,
        name=name,
        data_format=data_format,
    )


def avg_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCHW",
    name=None,
):
    """The mean of windows of images. ``exclusive``: padding does not count.

    ``divisor_override`` takes the place of the number of elements of a window.
    """
    stride = kernel_size if stride is None else stride
    made = core.pool2d(
        *(x, kernel_size, "avg", stride, padding),
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        name=name,
        data_format=data_format,
    )
    if divisor_override is None:
        return made
    height, width = (several(kernel_size) * 2)[:2]
    return made * (height * width) / divisor_override


def adaptive_max(x, size, name=None):
    """The largest elements of windows chosen so that the result has ``size``."""
    attrs = {"ksize": size, "strides": [1, 1], "paddings": [0, 0], "adaptive": True}
    outs = ["Out", "Mask"]
    return core.op("max_pool2d_with_index", {"X": x}, attrs, name=name, outs=outs)[0]


def _adaptive(x, output_size, type, name, data_format="NCHW"):
    """None keeps an extent."""
    first = 2 if data_format == "NCHW" else 1
    sizes = (several(output_size) or [None]) * 2
    kept = [x.shape[first + i] if size is None else size for i, size in enumerate(sizes[:2])]
    if type == "max":
        return adaptive_max(x, kept, name)
    return core.pool2d(x, kept, type, adaptive=True, name=name, data_format=data_format)


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """The means of windows chosen so that the result has ``output_size``."""
    return _adaptive(x, output_size, "avg", name, data_format)


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """The largest elements of windows chosen so that the result has ``output_size``."""
    _no_mask(return_mask)
    return _adaptive(x, output_size, "max", name)


def max_unpool2d(
    x,
    indices,
    kernel_size,
    stride=None,
    padding=0,
    data_format="NCHW",
    output_size=None,
    name=None,
):
    """Images that hold ``x`` at the places in ``indices``, where a pool has found it, and zeros."""
    if data_format != "NCHW":
        raise ValueError(f'data_format must be "NCHW", but is {data_format!r}')
    kernel, padding = (several(kernel_size) * 2)[:2], (several(padding) * 2)[:2]
    attrs = {"unpooling_type": "max", "ksize": kernel, "paddings": padding}
    attrs["strides"] = kernel if stride is None else (several(stride) * 2)[:2]
    attrs["output_size"] = [] if output_size is None else several(output_size)[-2:]
    return core.op("unpool", {"X": x, "Indices": indices}, attrs, name=name)


# ---- sequences, as images of height one


def _line(value):
    """Numbers for the length as those for height one and the length."""
    return value if value is None or isinstance(value, str) else [1, *several(value)[:1]]


def _sides(padding):
    if isinstance(padding, str):
        return padding
    before, after = (several(padding) * 2)[:2]
    return [0, 0, before, after]


def max_pool1d(
    x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None
):
    """The largest element of windows of sequences."""
    size, step = _line(kernel_size), _line(stride)
    made = max_pool2d(
        unsqueeze(x, 2), size, step, _sides(padding), return_mask, ceil_mode, name=name
    )
    return squeeze(made, 2)


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """The mean of windows of sequences."""
    size, step = _line(kernel_size), _line(stride)
    made = avg_pool2d(unsqueeze(x, 2), size, step, _sides(padding), ceil_mode, exclusive, name=name)
    return squeeze(made, 2)


def adaptive_avg_pool1d(x, output_size, name=None):
    """The means of windows of sequences chosen so that the result has ``output_size``."""
    return squeeze(_adaptive(unsqueeze(x, 2), [1, output_size], "avg", name), 2)


def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """The largest elements of windows of sequences; the result has ``output_size``."""
    _no_mask(return_mask)
    return squeeze(_adaptive(unsqueeze(x, 2), [1, output_size], "max", name), 2)
