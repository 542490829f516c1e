"""Images: which kind a program works with, how one is read from a file, and a small kind of ours.

There are three kinds: PIL's images ('pil'), arrays [height, width, channels] ('cv2') and arrays
[channels, height, width] ('tensor'). Neither Pillow nor OpenCV is needed. Where Pillow is
installed, 'pil' means its images; otherwise ``Image`` below, which has those of their words that
training programs use. The arithmetic is Flotilla's own in all cases.
"""

import os

import numpy as np

import _flotilla as core

_BACKENDS = ("pil", "cv2", "tensor")
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}

# Pillow's numbers for its resampling filters and transpositions.
_RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_90, ROTATE_180, ROTATE_270 = range(5)

_backend = "pil"


def _checked(backend):
    if backend not in _BACKENDS:
        raise ValueError(f"Expected backend are one of ['pil', 'cv2', 'tensor'], but got {backend}")
    return backend


def set_image_backend(backend):
    """What ``image_load`` and the data sets give: 'pil', 'cv2' or 'tensor'."""
    global _backend
    _backend = _checked(backend)


def get_image_backend():
    """The kind of images that was chosen; 'pil' at first."""
    return _backend


def pillow():
    """The module PIL.Image, or None where Pillow is not installed."""
    try:
        from PIL import Image as module
    except ImportError:
        return None
    return module


class Image:
    """A picture of bytes, where Pillow is not installed: 'L', 'LA', 'RGB' or 'RGBA'."""

    def __init__(self, array):
        array = np.ascontiguousarray(array)
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[:, :, 0]
        if array.dtype != np.uint8 or array.ndim not in (2, 3):
            raise TypeError(
                "an image is made of uint8 [height, width] or [height, width, channels], not of "
                f"{array.dtype} {list(array.shape)}"
            )
        if array.ndim == 3 and array.shape[2] not in _MODES:
            raise TypeError(f"an image has 1 to 4 channels, not {array.shape[2]}")
        self._array = array

    @classmethod
    def fromarray(cls, array, mode=None):
        image = cls(array)
        return image if mode is None else image.convert(mode)

    @classmethod
    def open(cls, path):
        return cls(_read(path))

    @property
    def mode(self):
        return _MODES[1 if self._array.ndim == 2 else self._array.shape[2]]

    @property
    def size(self):
        return self._array.shape[1], self._array.shape[0]

    @property
    def width(self):
        return self._array.shape[1]

    @property
    def height(self):
        return self._array.shape[0]

    @property
    def __array_interface__(self):
        return self._array.__array_interface__

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype)

    def __eq__(self, other):
        return isinstance(other, Image) and np.array_equal(self._array, other._array)

    __hash__ = None

    def __repr__(self):
        return f"<paddle.vision.image.Image mode={self.mode} size={self.width}x{self.height}>"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def close(self):
        pass

    def load(self):
        pass

    def copy(self):
        return Image(self._array.copy())

    def tobytes(self):
        return self._array.tobytes()

    def getbands(self):
        return tuple(self.mode)

    def getpixel(self, xy):
        value = self._array[xy[1], xy[0]]
        return int(value) if self._array.ndim == 2 else tuple(int(one) for one in value)

    def convert(self, mode):
        array = self._array
        if mode == self.mode:
            return self
        if mode == "L":
            return Image(array[:, :, 0] if self.mode == "LA" else core.grey_image(array, "pil"))
        if mode not in ("RGB", "RGBA"):
            raise ValueError(f"an image can be converted to 'L', 'RGB' or 'RGBA', not {mode!r}")
        color = array if array.ndim == 3 else array[:, :, None]
        alpha = (
            color[:, :, -1:] if self.mode in ("LA", "RGBA") else np.full_like(color[:, :, :1], 255)
        )
        color = color[:, :, :3] if self.mode.startswith("RGB") else np.repeat(color[:, :, :1], 3, 2)
        return Image(color if mode == "RGB" else np.concatenate([color, alpha], axis=2))

    def resize(self, size, resample=3):
        name = resample if isinstance(resample, str) else _RESAMPLE[int(resample)]
        return Image(core.resize_image(self._array, size[1], size[0], name, "pil"))

    def crop(self, box):
        """The box (left, top, right, bottom); what lies outside of the image is black."""
        left, top, right, bottom = (int(round(side)) for side in box)
        out = np.zeros((bottom - top, right - left, *self._array.shape[2:]), np.uint8)
        y, x = max(top, 0), max(left, 0)
        part = self._array[y : max(bottom, 0), x : max(right, 0)]
        out[y - top : y - top + part.shape[0], x - left : x - left + part.shape[1]] = part
        return Image(out)

    def transpose(self, method):
        if method in (FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM):
            axis = "horizontal" if method == FLIP_LEFT_RIGHT else "vertical"
            return Image(core.flip_image(self._array, axis))
        return Image(np.rot90(self._array, {ROTATE_90: 1, ROTATE_180: 2, ROTATE_270: 3}[method]))

    def save(self, path, quality=75):
        """Writes a PNG or, where the name ends in .jpg or .jpeg, a JPEG."""
        jpeg = os.fspath(path).lower().endswith((".jpg", ".jpeg"))
        data = core.encode_jpeg(self._array, quality) if jpeg else core.encode_png(self._array)
        with open(path, "wb") as file:
            file.write(data)


def _read(path, channels="stored", upright=False):
    if hasattr(path, "read"):
        return core.decode_image(
            path.read(), getattr(path, "name", "the stream"), channels, upright
        )
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    return core.read_image(path, channels, upright)


def open_pil(path):
    """The image of a file: Pillow's where it is installed, ours otherwise."""
    module = pillow()
    return Image.open(path) if module is None else module.open(path)


def from_array(array):
    """The 'pil' kind of an array [height, width] or [height, width, channels] of bytes."""
    module = pillow()
    return Image(array) if module is None else module.fromarray(array)


def read_rgb(path):
    """Red, green and blue of a file, uint8 [height, width, 3]."""
    return _read(path, "rgb", upright=True)


def image_load(path, backend=None):
    """Reads an image: 'pil' an image, 'cv2' blue, green, red [height, width, 3] as OpenCV has them,
    'tensor' red, green, blue [3, height, width]; the last two uint8."""
    backend = _checked(backend or _backend)
    if backend == "pil":
        return open_pil(path)
    array = read_rgb(path)
    order = (array[:, :, ::-1], array.transpose(2, 0, 1))[backend == "tensor"]
    return np.ascontiguousarray(order)
