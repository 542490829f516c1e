"""Colors of what ``to_tensor`` gave: float32 in [0, 1] (or bytes), [channels, height, width]."""

import numpy as np

from ._kinds import TensorImage


def grey(img):
    """[1, height, width]"""
    weights = np.array([0.2989, 0.587, 0.114], np.float32).reshape(3, 1, 1)
    return (np.asarray(img, np.float32) * weights).sum(axis=0, keepdims=True)


def blend(img, other, factor):
    most = 1.0 if np.issubdtype(img.dtype, np.floating) else 255
    mixed = np.asarray(img, np.float32) * np.float32(factor) + other * np.float32(1 - factor)
    return mixed.clip(0, most).astype(img.dtype).view(TensorImage)


def _to_hsv(rgb):
    most, least = rgb.max(axis=0), rgb.min(axis=0)
    spread = most - least
    safe = np.where(spread == 0, 1, spread)
    red, green, blue = (most - rgb) / safe
    hue = np.where(
        rgb[0] == most,
        blue - green,
        np.where(rgb[1] == most, 2.0 + red - blue, 4.0 + green - red),
    )
    hue = np.where(spread == 0, 0, hue / 6.0) % 1.0
    return hue, spread / np.where(most == 0, 1, most), most


def _to_rgb(hue, saturation, value):
    sixth = np.floor(hue * 6.0)
    part = hue * 6.0 - sixth
    p = value * (1 - saturation)
    q = value * (1 - saturation * part)
    t = value * (1 - saturation * (1 - part))
    which = sixth.astype(int) % 6
    colors = (
        (value, t, p),
        (q, value, p),
        (p, value, t),
        (p, q, value),
        (t, p, value),
        (value, p, q),
    )
    return np.stack([np.choose(which, [color[c] for color in colors]) for c in range(3)])


def adjust_hue(img, factor):
    most = 1.0 if np.issubdtype(img.dtype, np.floating) else 255
    hue, saturation, value = _to_hsv(np.asarray(img, np.float32) / most)
    rgb = _to_rgb((hue + factor) % 1.0, saturation, value) * most
    return rgb.clip(0, most).astype(img.dtype).view(TensorImage)
