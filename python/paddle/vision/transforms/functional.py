"""What is done to one image. An image is PIL's (or ``paddle.vision.image.Image``), an array
[height, width, channels], or what ``to_tensor`` gave; the result is of the same kind.

PIL's images are resized and turned with PIL's arithmetic, arrays with OpenCV's, as in Paddle; the
work is done in C++.
"""

import math
import numbers
from fractions import Fraction

import numpy as np

import _flotilla as core

from . import _tensor
from ._kinds import TensorImage, array_of, kind_of, like, size_of


def _style(img):
    return "pil" if kind_of(img) == "pil" else "cv2"


def to_tensor(pic, data_format="CHW"):
    """float32, [channels, height, width] (or 'HWC'); bytes become numbers in [0, 1]."""
    if data_format not in ("CHW", "HWC"):
        raise ValueError(f"data_format should be CHW or HWC. Got {data_format}")
    if kind_of(pic) == "tensor":
        return pic if data_format == "CHW" else np.asarray(pic).transpose(1, 2, 0)
    array = array_of(pic)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.dtype == np.uint8:
        array = array.astype(np.float32) * np.float32(1 / 255)
    if data_format == "HWC":
        return array
    return np.ascontiguousarray(array.transpose(2, 0, 1)).view(TensorImage)


def resize(img, size, interpolation="bilinear"):
    """To (height, width), or so that the shorter side has ``size`` pixels."""
    width, height = size_of(img)
    if isinstance(size, numbers.Integral):
        size = int(size)
        if (width <= height and width == size) or (height <= width and height == size):
            return img
        if width < height:
            to = (int(size * height / width), size)
        else:
            to = (size, int(size * width / height))
    else:
        to = tuple(size) if hasattr(size, "__iter__") else ()
        if len(to) != 2:
            raise TypeError(f"Got inappropriate size arg: {size}")
    array = array_of(img)
    return like(img, core.resize_image(array, int(to[0]), int(to[1]), interpolation, _style(img)))


def _sides(padding):
    """(left, top, right, bottom)"""
    if isinstance(padding, numbers.Number):
        return (int(padding),) * 4
    if not isinstance(padding, (list, tuple)):
        raise TypeError("Got inappropriate padding arg")
    if len(padding) not in (2, 4):
        raise ValueError(
            "Padding must be an int or a 2, or 4 element tuple, not a "
            f"{len(padding)} element tuple"
        )
    return tuple(int(side) for side in padding) * (2 if len(padding) == 2 else 1)


def _packed_fill(fill, channels, kind):
    """A color for each channel. One number is the first channel's, as both libraries have it; in
    PIL its higher bytes are the other channels'."""
    if isinstance(fill, numbers.Number):
        if channels == 1:
            return [float(fill)]
        if kind == "pil":
            return [float(int(fill) >> shift & 255) for shift in range(0, 8 * channels, 8)]
        return [float(fill)] + [0.0] * (channels - 1)
    if isinstance(fill, str):
        raise TypeError(f"a color is a number or one number for each channel, not {fill!r}")
    return ([float(one) for one in fill] + [0.0] * channels)[:channels]


def _even_fill(fill, channels):
    """A color for each channel; one number is for all."""
    if isinstance(fill, numbers.Number):
        return [float(fill)] * channels
    return _packed_fill(fill, channels, "cv2")


def _channels(array):
    return 1 if array.ndim == 2 else array.shape[2]


def pad(img, padding, fill=0, padding_mode="constant"):
    """Adds borders; ``padding`` is one number, (left and right, top and bottom), or all four."""
    if not isinstance(fill, (numbers.Number, str, list, tuple)):
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    assert padding_mode in (
        "constant",
        "edge",
        "reflect",
        "symmetric",
    ), "Padding mode should be either constant, edge, reflect or symmetric"
    array, kind = array_of(img), kind_of(img)
    channels = _channels(array)
    color = _even_fill(fill, channels) if kind == "tensor" else _packed_fill(fill, channels, kind)
    return like(img, core.pad_image(array, _sides(padding), padding_mode, color))


def crop(img, top, left, height, width):
    """A rectangle of the image. What lies outside is black in PIL's images, and missing in others."""
    kind = kind_of(img)
    if kind == "pil":
        return img.crop((left, top, left + width, top + height))
    if kind == "tensor":
        return img[:, top : top + height, left : left + width]
    return img[top : top + height, left : left + width]


def center_crop(img, output_size):
    """(height, width), or a square, from the middle."""
    if isinstance(output_size, numbers.Number):
        output_size = (int(output_size), int(output_size))
    width, height = size_of(img)
    top = int(round((height - output_size[0]) / 2.0))
    left = int(round((width - output_size[1]) / 2.0))
    return crop(img, top, left, *output_size)


def hflip(img):
    """Left and right change places."""
    return like(img, core.flip_image(array_of(img), "horizontal"))


def vflip(img):
    """Top and bottom change places."""
    return like(img, core.flip_image(array_of(img), "vertical"))


def _table(values):
    return np.array(values).clip(0, 255).astype(np.uint8)


def adjust_brightness(img, brightness_factor):
    """0 is black, 1 the image as it is, 2 twice as bright."""
    kind = kind_of(img)
    if kind == "tensor":
        return _tensor.blend(img, 0.0, brightness_factor)
    array = array_of(img)
    if kind == "pil":
        return like(img, core.blend_image(array, 0, brightness_factor))
    table = _table([i * brightness_factor for i in range(256)])
    return core.look_up_image(np.ascontiguousarray(array.astype(np.uint8)), table)


def adjust_contrast(img, contrast_factor):
    """0 is grey, 1 the image as it is."""
    kind = kind_of(img)
    if kind == "tensor":
        return _tensor.blend(img, _tensor.grey(img).mean(), contrast_factor)
    array = array_of(img)
    if kind == "pil":
        return like(img, core.blend_image(array, core.contrast_mean(array), contrast_factor))
    table = _table([(i - 74) * contrast_factor + 74 for i in range(256)])
    return core.look_up_image(np.ascontiguousarray(array.astype(np.uint8)), table)


def adjust_saturation(img, saturation_factor):
    """0 is grey, 1 the image as it is. For arrays Paddle draws the strength from numpy's generator,
    up to ``saturation_factor`` away from 1."""
    kind = kind_of(img)
    if kind == "tensor":
        return _tensor.blend(img, _tensor.grey(img), saturation_factor)
    array = array_of(img)
    if kind == "pil":
        return img if array.ndim == 2 else like(img, core.saturate_pil(array, saturation_factor))
    alpha = np.random.uniform(max(0, 1 - saturation_factor), 1 + saturation_factor)
    if array.dtype == np.uint8:
        return core.saturate_cv2(array, alpha)
    image = array.astype(np.float32)
    grey = image @ np.array([0.114, 0.587, 0.299], np.float32)
    mixed = image * np.float32(alpha) + grey[..., None] * np.float32(1 - alpha)
    return mixed.clip(0, 255).astype(array.dtype)


def adjust_hue(img, hue_factor):
    """Turns the circle of colors by ``hue_factor``, in [-0.5, 0.5], of a whole turn."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor:{hue_factor} is not in [-0.5, 0.5].")
    kind = kind_of(img)
    if kind == "tensor":
        return _tensor.adjust_hue(img, hue_factor)
    array = array_of(img)
    if kind == "pil" and array.ndim == 2:
        return img
    bytes_ = np.ascontiguousarray(array.astype(np.uint8))
    return like(img, core.shift_hue(bytes_, int(hue_factor * 255), kind).astype(array.dtype))


def _warp(img, height, width, plane_map, interpolation, fill):
    array = array_of(img)
    plane_map = [float(x) for x in plane_map]
    plane_map += [0.0] * (8 - len(plane_map))
    warped = core.warp_image(array, height, width, plane_map, interpolation, _style(img), fill)
    return like(img, warped)


def _inverse(matrix):
    """Of the affine map that six numbers describe."""
    a, b, c, d, e, f = matrix
    determinant = a * e - b * d
    scale = 1 / determinant if determinant != 0 else 0.0
    a, b, d, e = e * scale, -b * scale, -d * scale, a * scale
    return [a, b, -a * c - b * f, d, e, -d * c - e * f]


def _rotation(center, angle, scale):
    """The affine map that turns the plane against the clock about ``center``."""
    alpha = scale * math.cos(math.radians(angle))
    beta = scale * math.sin(math.radians(angle))
    x, y = center
    return [alpha, beta, (1 - alpha) * x - beta * y, -beta, alpha, beta * x + (1 - alpha) * y]


def _sheared(center, angle, translate, scale, shear):
    """Where the pixels of an affine image come from: the inverse of translate(center) rotate shear
    scale translate(-center)."""
    turn, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    a, b, c, d = d / scale, -b / scale, -c / scale, a / scale
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    return [a, b, a * x + b * y + center[0], c, d, c * x + d * y + center[1]]


def affine(img, angle, translate, scale, shear, interpolation="nearest", fill=0, center=None):
    """Turns, moves, scales and shears the image within its frame."""
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, (numbers.Number, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if not isinstance(interpolation, str):
        raise TypeError("Argument interpolation should be a string")
    if isinstance(shear, numbers.Number):
        shear = [shear, 0.0]
    shear = list(shear) * (2 if len(shear) == 1 else 1)
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    width, height = size_of(img)
    if kind_of(img) == "cv2":
        turned = _rotation((0, 0), angle, scale)
        sx, sy = (math.tan(math.radians(one)) for one in shear)
        rows = np.array([turned[:2], turned[3:5]])
        forward = [*(rows[0] + sy * rows[1]), translate[0], *(rows[1] + sx * rows[0]), translate[1]]
        plane_map = _inverse(forward)
    else:
        center = center or (width * 0.5, height * 0.5)
        plane_map = _sheared(center, angle, translate, scale, shear)
    return _warp(img, height, width, plane_map, interpolation, _even_fill(fill, _depth(img)))


def _depth(img):
    return _channels(array_of(img))


def _corners(plane_map, width, height):
    """The size of the box that holds the turned image."""
    a, b, c, d, e, f = plane_map
    points = ((0, 0), (width, 0), (width, height), (0, height))
    xs = [a * x + b * y + c for x, y in points]
    ys = [d * x + e * y + f for x, y in points]
    return math.ceil(max(xs)) - math.floor(min(xs)), math.ceil(max(ys)) - math.floor(min(ys))


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0):
    """Turns the image against the clock, by degrees; ``expand`` makes room for all of it."""
    width, height = size_of(img)
    pil = kind_of(img) == "pil"
    if pil and center is None and angle % 360 in (0, 90, 180, 270):
        quarters = int(angle % 360) // 90
        if quarters % 2 == 0 or expand or width == height:
            return like(img, np.ascontiguousarray(np.rot90(array_of(img), quarters)))
    middle = center or (width / 2.0, height / 2.0)
    radians = -math.radians(angle % 360 if pil else angle)
    cos, sin = round(math.cos(radians), 15), round(math.sin(radians), 15)
    x, y = middle
    box = [cos, sin, -cos * x - sin * y + x, -sin, cos, sin * x - cos * y + y]
    to = _corners(box, width, height) if expand else (width, height)
    if pil:
        left, top = -(to[0] - width) / 2.0, -(to[1] - height) / 2.0
        a, b, c, d, e, f = box
        plane_map = [a, b, a * left + b * top + c, d, e, d * left + e * top + f]
        fill = _even_fill(fill, _depth(img))
    else:
        forward = _rotation(middle, angle, 1)
        forward[2] += (to[0] - width) * 0.5
        forward[5] += (to[1] - height) * 0.5
        plane_map = _inverse(forward)
        fill = _packed_fill(fill, _depth(img), "cv2")
    return _warp(img, to[1], to[0], plane_map, interpolation, fill)


def _solve(rows, values):
    """The solution of a few linear equations, exact up to the last rounding. LAPACK's differs in its
    last bits from machine to machine, and these decide where the border of an image lies."""
    table = [[Fraction(number) for number in (*row, value)] for row, value in zip(rows, values)]
    for i in range(len(table)):
        pivot = next((r for r in range(i, len(table)) if table[r][i] != 0), None)
        if pivot is None:
            raise ValueError("three of the four points lie on one line, or two in one place")
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [number / table[i][i] for number in table[i]]
        for r in range(len(table)):
            factor = table[r][i]
            if r != i and factor != 0:
                table[r] = [a - factor * b for a, b in zip(table[r], table[i])]
    return [float(row[-1]) for row in table]


def perspective(img, startpoints, endpoints, interpolation="nearest", fill=0):
    """Moves four points of the image, and all others with them."""
    rows, values = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
        values += [u, v]
    plane_map = _solve(rows, values)
    width, height = size_of(img)
    if kind_of(img) == "pil":
        fill = _even_fill(fill, _depth(img))
    else:
        fill = _packed_fill(fill, _depth(img), "cv2")
    return _warp(img, height, width, plane_map, interpolation, fill)


def to_grayscale(img, num_output_channels=1):
    """Grey, in one channel or in three equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    kind = kind_of(img)
    if kind == "tensor":
        grey = _tensor.grey(img).astype(img.dtype)
        return np.repeat(grey, num_output_channels, axis=0).view(TensorImage)
    array = array_of(img)
    if array.ndim == 2:
        grey = array
    elif array.dtype == np.uint8:
        grey = core.grey_image(array, kind)
    else:
        grey = (array @ np.array([0.299, 0.587, 0.114], array.dtype)).astype(array.dtype)
    if num_output_channels == 3:
        return like(img, np.repeat(grey[:, :, None], 3, axis=2))
    return like(img, grey if kind == "pil" else grey[:, :, None])


def normalize(img, mean, std, data_format="CHW", to_rgb=False):
    """(img - mean) / std, channel by channel; an image of PIL's becomes an array first."""
    tensor = kind_of(img) == "tensor" if isinstance(img, TensorImage) else False
    if not isinstance(img, np.ndarray):
        img = np.asarray(img).astype(np.float32)
    shape = (-1, 1, 1) if data_format == "CHW" else (1, 1, -1)
    mean = np.float32(np.array(mean).reshape(shape))
    std = np.float32(np.array(std).reshape(shape))
    if to_rgb and not tensor:
        img = img[..., ::-1]
    return (img - mean) / std


def erase(img, i, j, h, w, v, inplace=False):
    """Writes ``v`` over the rectangle of ``h`` rows and ``w`` columns that begins at (i, j)."""
    kind = kind_of(img)
    if kind == "pil":
        array = np.array(array_of(img))
        array[i : i + h, j : j + w, ...] = v
        return like(img, array)
    if not inplace:
        img = img.copy()
    if kind == "tensor":
        img[..., i : i + h, j : j + w] = v
    else:
        img[i : i + h, j : j + w, ...] = v
    return img
