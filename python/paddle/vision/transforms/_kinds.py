"""Which kind an image is, and the array behind it."""

import sys

import numpy as np

from ..image import Image, from_array


class TensorImage(np.ndarray):
    """What ``to_tensor`` gives: an array whose axes are channels, height and width."""


def is_pillow(img):
    module = sys.modules.get("PIL.Image")  # an image of Pillow's exists only where it was imported
    return module is not None and isinstance(img, module.Image)


def kind_of(img):
    """'pil', 'tensor' or 'cv2'; refuses anything else."""
    if isinstance(img, Image) or is_pillow(img):
        return "pil"
    if isinstance(img, TensorImage) and img.ndim >= 3:
        return "tensor"
    if isinstance(img, np.ndarray) and img.ndim in (2, 3):
        return "cv2"
    raise TypeError(
        "img should be PIL Image or Tensor Image or ndarray with dim=[2 or 3]. " f"Got {type(img)}"
    )


def array_of(img):
    """[height, width] or [height, width, channels], in C order."""
    if is_pillow(img) and img.mode not in ("L", "RGB", "RGBA", "LA"):
        img = img.convert("RGB")
    if isinstance(img, TensorImage):
        img = np.asarray(img).transpose(1, 2, 0)
    return np.ascontiguousarray(np.asarray(img))


def like(img, array):
    """``array``, as the kind of image that ``img`` is."""
    kind = kind_of(img)
    if kind == "pil":
        return Image(array) if isinstance(img, Image) else from_array(array)
    if kind == "tensor":
        array = array if array.ndim == 3 else array[:, :, None]
        return np.ascontiguousarray(array.transpose(2, 0, 1)).view(TensorImage)
    # OpenCV drops a last axis of one; Paddle puts it back.
    return array


def size_of(img):
    """(width, height)"""
    kind = kind_of(img)
    if kind == "pil":
        return tuple(img.size)
    if kind == "tensor":
        return img.shape[-1], img.shape[-2]
    return img.shape[1], img.shape[0]
