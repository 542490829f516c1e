"""Products with weights, lookups, dropout, and forms of data."""

import _flotilla as core
from paddle._rows import rows
from paddle._words import several
from paddle.tensor.attribute import shape
from paddle.tensor.linalg import norm
from paddle.tensor.manipulation import cast, squeeze, unsqueeze
from paddle.tensor.math import clip, divide, maximum, multiply, scale, sum
from paddle.tensor.ops import sqrt
from paddle.tensor.random import uniform

__all__ = [
    *rows(globals()),
    *("cosine_similarity", "dropout", "embedding", "linear", "normalize", "pad"),
]


def linear(x, weight, bias=None, name=None):
    """x @ weight + bias.

    >>> linear(x, weight)  # [None, 4] by [4, 5] is [None, 5]
    """
    name = name or core.unique_name("linear")
    product = core.op("matmul_v2", {"X": x, "Y": weight}, name=name)
    if bias is None:
        return product
    return core.op("elementwise_add", {"X": product, "Y": bias}, {"axis": -1}, name=name)


def embedding(x, weight, padding_idx=None, sparse=False, name=None):
    """The rows of the table ``weight`` that ``x`` names. ``padding_idx`` gives zeros.

    ``sparse``: the gradient holds the rows that were looked up, not the whole table.
    """
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    attrs = {"is_sparse": sparse, "is_distributed": False, "padding_idx": padding_idx}
    inputs = {"Ids": x, "W": weight}
    return core.op("lookup_table_v2", inputs, attrs, name=name, layer="embedding")


# ---- dropout


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):
    """Set elements to zero with probability ``p`` while training.

    ``upscale_in_train`` divides the others by 1 - p; ``downscale_in_infer`` multiplies all by it
    afterwards. ``axis``: where elements are dropped one by one; whole slices elsewhere.
    """
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ValueError(f"mode must be upscale_in_train or downscale_in_infer, but is {mode!r}")
    if isinstance(p, (int, float)) and p == 0:
        return x
    if axis is not None:
        return _dropout_slices(x, p, several(axis), training, mode)
    return core.dropout(x, p, not training, None, mode == "upscale_in_train", name)


def _dropout_slices(x, p, axes, training, mode):
    if not training:
        return x if mode == "upscale_in_train" else scale(x, 1 - p)
    extents = shape(x)
    places = [extents[i] if i in axes else 1 for i in range(x.ndim)]
    kept = cast(uniform(places, "float32", 0.0, 1.0) >= p, x.dtype)
    return multiply(scale(x, 1 / (1 - p) if mode == "upscale_in_train" else 1.0), kept)


def _dropout_channels(x, p, training, data_format, name):
    """Whole channels at once."""
    axes = [0, x.ndim - 1 if data_format[-1] == "C" else 1]
    return dropout(x, p, axes, training, name=name)


# ---- forms


def normalize(x, p=2, axis=1, epsilon=1e-12, name=None):
    """Divide slices along ``axis`` by their norm, or by epsilon where that is larger."""
    return divide(x, maximum(norm(x, float(p), axis, True), epsilon), name)


def cosine_similarity(x1, x2, axis=1, eps=1e-8):
    """The cosine of the angle between slices along ``axis``."""
    product = sum(multiply(x1, x2), axis)
    lengths = sum(multiply(x1, x1), axis) * sum(multiply(x2, x2), axis)
    return product / sqrt(clip(lengths, eps * eps))


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW", name=None):
    """Add elements around: two numbers for each axis, or for the last axes first, before, after.

    One number is that of all sides of images, sequences or volumes.
    """
    if isinstance(pad, int):
        pad = [pad] * 2 * (x.ndim - 2)
    if len(pad) == 2 * x.ndim and mode == "constant":
        attrs = {"paddings": list(pad), "pad_value": float(value)}
        return core.op("pad", {"X": x}, attrs, name=name)
    front, attrs = data_format.startswith("NC"), {"mode": mode, "value": float(value)}
    attrs["paddings"] = list(pad) + [0] * (6 - len(pad))
    attrs["data_format"] = "NCDHW" if front else "NDHWC"
    axes = list(range(2, 7 - x.ndim)) if front else list(range(1, 6 - x.ndim))
    wide = unsqueeze(x, axes) if axes else x
    padded = core.op("pad3d", {"X": wide}, attrs, name=name)
    return squeeze(padded, axes) if axes else padded


def _windows(type, x, name, **attrs):
    """``unfold``, or ``fold``: numbers for height and width, and paddings of all four sides."""
    counts = {word: 4 if word == "paddings" else 2 for word in attrs}
    attrs = {word: _repeated(value, counts[word]) for word, value in attrs.items()}
    return core.op(type, {"X": x}, attrs, name=name)


def _repeated(value, count):
    """One number or a few, repeated to ``count`` where they are a part of that."""
    numbers = several(value)
    return numbers * max(1, count // max(1, len(numbers)))
