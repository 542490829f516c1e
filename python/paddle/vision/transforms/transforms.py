"""Transforms as objects: what they do is in ``functional``, here is what they draw at random.

Each takes its random numbers from the generator that Paddle takes them from, in the same order, so
that ``random.seed`` and ``numpy.random.seed`` give the same crops and flips as there.
"""

import math
import numbers
import random
from collections.abc import Sequence

import numpy as np

from . import functional as F
from ._kinds import kind_of, size_of


class Compose:
    """One transform after the other."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, data):
        for transform in self.transforms:
            data = transform(data)
        return data

    def __repr__(self):
        lines = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({lines}\n)"


class BaseTransform:
    """A transform of an image, or of a tuple of an image and what belongs to it.

    ``keys`` name the values of the tuple; the value called 'image' is given to ``_apply_image``,
    'boxes' to ``_apply_boxes`` and so on, and values behind the keys pass through.
    ``_get_params(inputs)`` is called first, and what it returns is ``self.params``.
    """

    def __init__(self, keys=None):
        if keys is None:
            keys = ("image",)
        elif not isinstance(keys, Sequence):
            raise ValueError(f"keys should be a sequence, but got keys={keys}")
        for key in keys:
            if self._get_apply(key) is None:
                raise NotImplementedError(f"{key} is unsupported data structure")
        self.keys = keys
        self.params = None

    def _get_params(self, inputs):
        return None

    def __call__(self, inputs):
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(values)
        applied = [self._get_apply(key)(value) for key, value in zip(self.keys, values)]
        outputs = (*applied, *values[len(applied) :])
        return outputs[0] if len(outputs) == 1 else outputs

    def _get_apply(self, key):
        return getattr(self, f"_apply_{key}", None)

    def _apply_image(self, image):
        raise NotImplementedError

    def _apply_boxes(self, boxes):
        raise NotImplementedError

    def _apply_mask(self, mask):
        raise NotImplementedError


def _pair(size):
    return (int(size), int(size)) if isinstance(size, numbers.Number) else size


class ToTensor(BaseTransform):
    """float32 [channels, height, width] in [0, 1]."""

    def __init__(self, data_format="CHW", keys=None):
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, img):
        return F.to_tensor(img, self.data_format)


class Resize(BaseTransform):
    """To (height, width), or so that the shorter side has ``size`` pixels."""

    def __init__(self, size, interpolation="bilinear", keys=None):
        super().__init__(keys)
        assert isinstance(size, int) or (hasattr(size, "__iter__") and len(size) == 2)
        self.size = size
        self.interpolation = interpolation

    def _apply_image(self, img):
        return F.resize(img, self.size, self.interpolation)


class RandomResizedCrop(BaseTransform):
    """A rectangle of random area, shape and place, resized to ``size``."""

    def __init__(
        self,
        size,
        scale=(0.08, 1.0),
        ratio=(3.0 / 4, 4.0 / 3),
        interpolation="bilinear",
        keys=None,
    ):
        super().__init__(keys)
        self.size = (size, size) if isinstance(size, int) else size
        assert scale[0] <= scale[1], "scale should be of kind (min, max)"
        assert ratio[0] <= ratio[1], "ratio should be of kind (min, max)"
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation

    def _draw(self, width, height):
        """(top, left, height, width)"""
        log_ratio = [math.log(one) for one in self.ratio]
        for _ in range(10):
            area = np.random.uniform(*self.scale) * (width * height)
            shape = math.exp(np.random.uniform(*log_ratio))
            w = int(round(math.sqrt(area * shape)))
            h = int(round(math.sqrt(area / shape)))
            if 0 < w <= width and 0 < h <= height:
                top = random.randint(0, height - h)
                return top, random.randint(0, width - w), h, w
        shape = width / height
        w, h = width, height
        if shape < min(self.ratio):
            h = int(round(w / min(self.ratio)))
        elif shape > max(self.ratio):
            w = int(round(h * max(self.ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply_image(self, img):
        return F.resize(F.crop(img, *self._draw(*size_of(img))), self.size, self.interpolation)


class CenterCrop(BaseTransform):
    """(height, width), or a square, from the middle."""

    def __init__(self, size, keys=None):
        super().__init__(keys)
        self.size = _pair(size)

    def _apply_image(self, img):
        return F.center_crop(img, self.size)


class _RandomFlip(BaseTransform):
    def __init__(self, prob=0.5, keys=None):
        super().__init__(keys)
        assert 0 <= prob <= 1, "probability must be between 0 and 1"
        self.prob = prob

    def _draw(self):
        return random.random() < self.prob


class RandomHorizontalFlip(_RandomFlip):
    """Left and right change places, with the probability ``prob``."""

    def _apply_image(self, img):
        return F.hflip(img) if self._draw() else img


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom change places, with the probability ``prob``."""

    def _apply_image(self, img):
        return F.vflip(img) if self._draw() else img


class Normalize(BaseTransform):
    """(image - mean) / std, channel by channel."""

    def __init__(self, mean=0.0, std=1.0, data_format="CHW", to_rgb=False, keys=None):
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Number) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Number) else std
        self.data_format = data_format
        self.to_rgb = to_rgb

    def _apply_image(self, img):
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


class Transpose(BaseTransform):
    """The axes of the array in another order; [channels, height, width] unless told otherwise."""

    def __init__(self, order=(2, 0, 1), keys=None):
        super().__init__(keys)
        self.order = order

    def _apply_image(self, img):
        array = np.asarray(img)
        return (array if array.ndim > 2 else array[..., None]).transpose(self.order)


def _range(value, name, center=1, bound=(0, float("inf")), not_negative=True):
    """From where to where a factor is drawn; None where it can only be one that changes nothing."""
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - value, center + value
        low = max(low, 0) if not_negative else low
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        low, high = value
        if not bound[0] <= low <= high <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}")
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with lenght 2.")
    return None if low == high == center else [low, high]


class _ColorTransform(BaseTransform):
    def __init__(self, value, keys=None):
        super().__init__(keys)
        self.value = _range(value, self._name)

    def _apply_image(self, img):
        if self.value is None:
            return img
        return self._adjust(img, random.uniform(self.value[0], self.value[1]))


class BrightnessTransform(_ColorTransform):
    """Brightness times a factor in [1 - value, 1 + value]."""

    _name, _adjust = "brightness", staticmethod(F.adjust_brightness)


class ContrastTransform(_ColorTransform):
    """Contrast times a factor in [1 - value, 1 + value]."""

    _name, _adjust = "contrast", staticmethod(F.adjust_contrast)


class SaturationTransform(_ColorTransform):
    """Saturation times a factor in [1 - value, 1 + value]."""

    _name, _adjust = "saturation", staticmethod(F.adjust_saturation)


class HueTransform(_ColorTransform):
    """Hue moved by up to ``value``, at most 0.5, of a whole turn."""

    _adjust = staticmethod(F.adjust_hue)

    def __init__(self, value, keys=None):
        BaseTransform.__init__(self, keys)
        self.value = _range(value, "hue", center=0, bound=(-0.5, 0.5), not_negative=False)


class ColorJitter(BaseTransform):
    """Brightness, contrast, saturation and hue, in random order."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0, keys=None):
        super().__init__(keys)
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def _apply_image(self, img):
        kinds = {
            BrightnessTransform: self.brightness,
            ContrastTransform: self.contrast,
            SaturationTransform: self.saturation,
            HueTransform: self.hue,
        }
        transforms = [kind(value, self.keys) for kind, value in kinds.items() if value is not None]
        random.shuffle(transforms)
        return Compose(transforms)(img)


class RandomCrop(BaseTransform):
    """(height, width) from a random place, after ``padding``."""

    def __init__(
        self,
        size,
        padding=None,
        pad_if_needed=False,
        fill=0,
        padding_mode="constant",
        keys=None,
    ):
        super().__init__(keys)
        self.size = _pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _draw(self, width, height):
        """(top, left)"""
        high, wide = self.size
        if (wide, high) == (width, height):
            return 0, 0
        if wide > width or high > height:
            raise ValueError(
                f"RandomCrop takes {high} x {wide} from an image, but this one has "
                f"{height} x {width}; give padding or pad_if_needed=True"
            )
        top = random.randint(0, height - high)
        return top, random.randint(0, width - wide)

    def _apply_image(self, img):
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        width, height = size_of(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, (self.size[1] - width, 0), self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, (0, self.size[0] - height), self.fill, self.padding_mode)
        top, left = self._draw(*size_of(img))
        return F.crop(img, top, left, *self.size)


class Pad(BaseTransform):
    """Borders on all sides."""

    def __init__(self, padding, fill=0, padding_mode="constant", keys=None):
        assert isinstance(padding, (numbers.Number, list, tuple))
        assert isinstance(fill, (numbers.Number, str, list, tuple))
        assert padding_mode in ("constant", "edge", "reflect", "symmetric")
        if isinstance(padding, Sequence) and len(padding) not in (2, 4):
            raise ValueError(
                "Padding must be an int or a 2, or 4 element tuple, not a "
                f"{len(padding)} element tuple"
            )
        super().__init__(keys)
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply_image(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)


def _sequence(value, name, sizes):
    lengths = " or ".join(str(size) for size in sizes)
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a sequence of length {lengths}.")
    if len(value) not in sizes:
        raise ValueError(f"{name} should be sequence of length {lengths}.")
    return value


def _angles(value, name, sizes=(2,)):
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        value = [-value, value]
    return [float(one) for one in _sequence(value, name, sizes)]


class RandomAffine(BaseTransform):
    """Turned, moved, scaled and sheared by random amounts."""

    def __init__(
        self,
        degrees,
        translate=None,
        scale=None,
        shear=None,
        interpolation="nearest",
        fill=0,
        center=None,
        keys=None,
    ):
        super().__init__(keys)
        self.degrees = _angles(degrees, "degrees")
        assert interpolation in ("nearest", "bilinear", "bicubic")
        self.interpolation = interpolation
        shares = () if translate is None else _sequence(translate, "translate", (2,))
        if any(not 0.0 <= one <= 1.0 for one in shares):
            raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        factors = () if scale is None else _sequence(scale, "scale", (2,))
        if any(one <= 0 for one in factors):
            raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = None if shear is None else _angles(shear, "shear", (2, 4))
        if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
            raise TypeError("Fill should be either a sequence or a number.")
        self.fill = 0 if fill is None else fill
        if center is not None:
            _sequence(center, "center", (2,))
        self.center = center

    def _draw(self, width, height):
        angle = random.uniform(*self.degrees)
        translate = (0, 0)
        if self.translate is not None:
            most = (float(self.translate[0] * width), float(self.translate[1] * height))
            translate = tuple(int(random.uniform(-one, one)) for one in most)
        scale = 1.0 if self.scale is None else random.uniform(self.scale[0], self.scale[1])
        shear = [0.0, 0.0]
        for i in range(0, len(self.shear or ()), 2):
            shear[i // 2] = random.uniform(self.shear[i], self.shear[i + 1])
        return angle, translate, scale, tuple(shear)

    def _apply_image(self, img):
        drawn = self._draw(*size_of(img))
        return F.affine(img, *drawn, self.interpolation, self.fill, self.center)


class RandomRotation(BaseTransform):
    """Turned by a random angle, in degrees."""

    def __init__(
        self, degrees, interpolation="nearest", expand=False, center=None, fill=0, keys=None
    ):
        super().__init__(keys)
        if isinstance(degrees, numbers.Number):
            if degrees < 0:
                raise ValueError("If degrees is a single number, it must be positive.")
            degrees = (-degrees, degrees)
        elif len(degrees) != 2:
            raise ValueError("If degrees is a sequence, it must be of len 2.")
        self.degrees = degrees
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    def _apply_image(self, img):
        angle = random.uniform(self.degrees[0], self.degrees[1])
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


class RandomPerspective(BaseTransform):
    """Seen from a random side, with the probability ``prob``."""

    def __init__(self, prob=0.5, distortion_scale=0.5, interpolation="nearest", fill=0, keys=None):
        super().__init__(keys)
        assert 0 <= prob <= 1, "probability must be between 0 and 1"
        assert 0 <= distortion_scale <= 1, "distortion_scale must be between 0 and 1"
        assert interpolation in ("nearest", "bilinear", "bicubic")
        assert isinstance(fill, (numbers.Number, str, list, tuple))
        self.prob = prob
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill

    def _draw(self, width, height):
        """Where the corners are, and where they go: top left, top right, bottom right and left."""
        across = int(self.distortion_scale * (width // 2))
        down = int(self.distortion_scale * (height // 2))
        near = {"x": (0, across + 1), "y": (0, down + 1)}
        far = {"x": (width - across - 1, width), "y": (height - down - 1, height)}
        sides = ((near, near), (far, near), (far, far), (near, far))
        ends = [[int(random.uniform(*x["x"])), int(random.uniform(*y["y"]))] for x, y in sides]
        starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return starts, ends

    def _apply_image(self, img):
        if random.random() >= self.prob:
            return img
        starts, ends = self._draw(*size_of(img))
        return F.perspective(img, starts, ends, self.interpolation, self.fill)


class Grayscale(BaseTransform):
    """Grey, in one channel or in three equal ones."""

    def __init__(self, num_output_channels=1, keys=None):
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img):
        return F.to_grayscale(img, self.num_output_channels)


class RandomErasing(BaseTransform):
    """A random rectangle is written over, with the probability ``prob``; ``value`` 'random' fills
    it with noise."""

    def __init__(
        self,
        prob=0.5,
        scale=(0.02, 0.33),
        ratio=(0.3, 3.3),
        value=0,
        inplace=False,
        keys=None,
    ):
        super().__init__(keys)
        assert isinstance(scale, (tuple, list)), "scale should be a tuple or list"
        assert (
            0 <= scale[0] <= scale[1] <= 1
        ), "scale should be of kind (min, max) and in range [0, 1]"
        assert isinstance(ratio, (tuple, list)), "ratio should be a tuple or list"
        assert 0 <= ratio[0] <= ratio[1], "ratio should be of kind (min, max)"
        assert 0 <= prob <= 1, "The probability should be in range [0, 1]"
        assert isinstance(
            value, (numbers.Number, str, tuple, list)
        ), "value should be a number, tuple, list or str"
        if isinstance(value, str) and value != "random":
            raise ValueError("value must be 'random' when type is str")
        self.prob = prob
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def _noise_or_value(self, kind, height, width, channels):
        if isinstance(self.value, str):
            if kind == "tensor":
                return np.random.normal(size=[channels, height, width])
            return np.random.normal(size=[height, width, channels]) * 255
        value = [self.value] if isinstance(self.value, numbers.Number) else self.value
        if len(value) not in (1, 3):
            raise ValueError(
                "Value should be a single number or a sequence with length equals to image's "
                "channel."
            )
        return np.array(value).reshape((-1, 1, 1) if kind == "tensor" else (1, 1, -1))

    def _apply_image(self, img):
        if random.random() >= self.prob:
            return img
        kind, (width, height) = kind_of(img), size_of(img)
        shape = np.asarray(img).shape
        channels = shape[0] if kind == "tensor" else (shape[2] if len(shape) == 3 else 1)
        log_ratio = np.log(self.ratio)
        for _ in range(10):
            area = np.random.uniform(*self.scale) * (height * width)
            ratio = np.exp(np.random.uniform(*log_ratio))
            h, w = int(round(np.sqrt(area * ratio))), int(round(np.sqrt(area / ratio)))
            if h >= height or w >= width:
                continue
            value = self._noise_or_value(kind, h, w, channels)
            top = np.random.randint(0, height - h + 1)
            left = np.random.randint(0, width - w + 1)
            if len(shape) == 2:
                value = value[..., 0]
            return F.erase(img, top, left, h, w, value, self.inplace)
        return img
