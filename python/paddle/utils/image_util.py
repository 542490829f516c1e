"""Pictures for classifiers, as programs of 1.x make them: arrays of [channels, height, width], or of
[height, width] without colours."""

import os

import numpy as np

import _flotilla as core
from paddle._files import open_file

__all__ = [
    *("ImageTransformer", "crop_img", "decode_jpeg", "flip", "load_image", "load_meta"),
    *("oversample", "preprocess_img", "resize_image"),
]


def load_image(img_path, is_color=True):
    """Read a JPEG or PNG file: [height, width, 3] of red, green and blue, or [height, width]."""
    return _flat(core.read_image(os.fspath(img_path), "rgb" if is_color else "grey"))


def decode_jpeg(jpeg_string):
    """The picture that the bytes of a JPEG or PNG hold, [3, height, width]."""
    return core.decode_image(jpeg_string, "an image", "rgb").transpose(2, 0, 1)


def _flat(image):
    return image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image


def resize_image(img, target_size):
    """A picture from ``load_image`` whose shorter side has ``target_size`` pixels."""
    array = np.ascontiguousarray(img)
    height, width = array.shape[:2]
    share = target_size / min(height, width)
    to = int(round(height * share)), int(round(width * share))
    return core.resize_image(array, *to, "lanczos", "pil")


def flip(im):
    """A picture as a mirror shows it."""
    return im[..., ::-1]


def crop_img(im, inner_size, color=True, test=True):
    """``inner_size`` x ``inner_size`` pixels: the middle ones, or for training those at a random
    place, every second time as a mirror shows them. Zeros stand around a smaller picture."""
    height, width = (max(inner_size, extent) for extent in im.shape[-2:])
    whole = np.zeros((*im.shape[:-2], height, width), "float32")
    top, left = (height - im.shape[-2]) // 2, (width - im.shape[-1]) // 2
    whole[..., top : top + im.shape[-2], left : left + im.shape[-1]] = im
    if test:
        top, left = (height - inner_size) // 2, (width - inner_size) // 2
    else:
        top = np.random.randint(0, height - inner_size + 1)
        left = np.random.randint(0, width - inner_size + 1)
    part = whole[..., top : top + inner_size, left : left + inner_size]
    return flip(part) if not test and np.random.randint(2) == 0 else part


def preprocess_img(im, img_mean, crop_size, is_train, color=True):
    """A cropped picture without the mean one, as a row of numbers."""
    part = crop_img(im.astype("float32"), crop_size, color, test=not is_train)
    return (part - img_mean).flatten()


def load_meta(meta_path, mean_img_size, crop_size, color=True):
    """The middle of the mean picture ``data_mean`` of an .npz file."""
    with open_file(meta_path) as file:
        mean = np.load(file, allow_pickle=False)["data_mean"]
    channels = 3 if color else 1
    if mean.size != channels * mean_img_size**2:
        raise ValueError(
            f"{meta_path} must hold a mean picture of {channels} x {mean_img_size} x {mean_img_size} "
            f"numbers, but it has {mean.size}"
        )
    mean = mean.reshape(([3] if color else []) + [mean_img_size, mean_img_size])
    start = (mean_img_size - crop_size) // 2
    part = mean[..., start : start + crop_size, start : start + crop_size]
    return part.astype("float32")


def oversample(img, crop_dims):
    """Ten parts of each of these pictures [height, width, channels]: corners, middle, mirrored."""
    height, width = np.asarray(img[0]).shape[:2]
    high, wide = (int(extent) for extent in crop_dims)
    places = [(y, x) for y in (0, height - high) for x in (0, width - wide)]
    places.append(((height - high) // 2, (width - wide) // 2))
    parts = []
    for image in img:
        cut = [np.asarray(image)[y : y + high, x : x + wide] for y, x in places]
        parts += [*cut, *(part[:, ::-1] for part in cut)]
    return np.stack(parts).astype("float32")


class ImageTransformer:
    """Turns the axes of pictures round, then their channels, then takes a mean away."""

    def __init__(self, transpose=None, channel_swap=None, mean=None, is_color=True):
        self.is_color = is_color
        self.set_transpose(transpose)
        self.set_channel_swap(channel_swap)
        self.set_mean(mean)

    def set_transpose(self, order):
        """The order of axes, such as (2, 0, 1)."""
        if order is not None and self.is_color and len(order) != 3:
            raise ValueError(f"a picture with colours has 3 axes, but the order is {order}")
        self.transpose = order

    def set_channel_swap(self, order):
        """The order of channels, such as (2, 1, 0)."""
        if order is not None and self.is_color and len(order) != 3:
            raise ValueError(f"a picture with colours has 3 channels, but the order is {order}")
        self.channel_swap = order

    def set_mean(self, mean):
        """A number for each channel, or a picture."""
        if mean is not None:
            mean = np.asarray(mean)
            mean = mean[:, np.newaxis, np.newaxis] if mean.ndim == 1 else mean
        self.mean = mean

    def transformer(self, data):
        """The picture, turned round and without the mean."""
        if self.transpose is not None:
            data = data.transpose(self.transpose)
        if self.channel_swap is not None:
            data = data[list(self.channel_swap), :, :]
        return data if self.mean is None else data - self.mean
