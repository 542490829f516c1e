"""Which transforms C++ can do in one pass (flotilla/data/image/chain.h), and what they draw.

A chain is known where it begins with transforms that move pixels (Resize, CenterCrop, RandomCrop,
RandomResizedCrop, flips, Pad) and ends with those that change values one by one (ToTensor,
Normalize, Transpose). The second half becomes a table: every byte is sent through the transforms
themselves once, so the table gives their results bit for bit.
"""

import numpy as np

import _flotilla as core

from . import transforms as T
from .transforms.functional import _packed_fill, _sides

_VALUES = (T.ToTensor, T.Normalize, T.Transpose)


def _flatten(transform):
    """The single transforms, or None where one is not ours."""
    if transform is None:
        return []
    if type(transform) is T.Compose or isinstance(transform, (list, tuple)):
        parts = transform.transforms if type(transform) is T.Compose else transform
        found = [_flatten(part) for part in parts]
        return None if None in found else [one for part in found for one in part]
    known = type(transform) in _STEPS or type(transform) in _VALUES
    return [transform] if known and tuple(transform.keys) == ("image",) else None


class _Steps:
    """Collects the steps of a chain, and with each what is drawn for it from (height, width)."""

    def __init__(self, kind, channels):
        self.kind = kind
        self.channels = channels
        self.steps = []
        self.draws = []  # functions of a pair [height, width], which they change, to a list of ints

    def add(self, step, draw):
        self.steps.append(step)
        self.draws.append(draw)

    def resize(self, t):
        size = t.size
        step = (size, 0) if isinstance(size, int) else (int(size[0]), int(size[1]))

        def after(extents):
            if step[1]:
                extents[:] = step
                return []
            height, width = extents
            if min(height, width) != size:
                taller = width < height
                other = int(size * height / width) if taller else int(size * width / height)
                extents[:] = (other, size) if taller else (size, other)
            return []

        self.add(("resize", *step, t.interpolation, self.kind), after)

    def center_crop(self, t):
        size = (int(t.size[0]), int(t.size[1]))

        def after(extents):
            extents[:] = size
            return []

        self.add(("crop", *size, False), after)

    def random_crop(self, t):
        if t.pad_if_needed:
            return False
        if t.padding is not None:
            self.pad(t)
        size = (int(t.size[0]), int(t.size[1]))

        def draw(extents):
            drawn = t._draw(extents[1], extents[0])
            extents[:] = size
            return drawn

        self.add(("crop", *size, True), draw)
        return True

    def random_resized_crop(self, t):
        size = (int(t.size[0]), int(t.size[1]))

        def draw(extents):
            drawn = t._draw(extents[1], extents[0])
            extents[:] = size
            return drawn

        self.add(("rectangle",), draw)
        self.add(("resize", *size, t.interpolation, self.kind), lambda extents: [])

    def flip(self, t):
        axis = "horizontal" if type(t) is T.RandomHorizontalFlip else "vertical"
        self.add(("flip", axis), lambda extents: [int(t._draw())])

    def pad(self, t):
        left, top, right, bottom = _sides(t.padding)

        def after(extents):
            extents[0] += top + bottom
            extents[1] += left + right
            return []

        fill = _packed_fill(t.fill, self.channels, self.kind)
        self.add(("pad", left, top, right, bottom, t.padding_mode, fill), after)

    def draw_one(self, height, width):
        """What one image of this size needs, in the order of the transforms."""
        extents, drawn = [height, width], []
        for draw in self.draws:
            drawn += draw(extents)
        return drawn


_STEPS = {
    T.Resize: _Steps.resize,
    T.CenterCrop: _Steps.center_crop,
    T.RandomCrop: _Steps.random_crop,
    T.RandomResizedCrop: _Steps.random_resized_crop,
    T.RandomHorizontalFlip: _Steps.flip,
    T.RandomVerticalFlip: _Steps.flip,
    T.Pad: _Steps.pad,
}
_INTERPOLATING = (T.Resize, T.RandomResizedCrop)


def _table(values, probe, channels):
    """(table, planes, flat) of what ``values`` makes of bytes, or None where it is no table."""
    try:
        made = values(probe)
    except Exception:  # the user shall see it where the sample is made, not here
        return None
    if not isinstance(made, np.ndarray) or made.dtype not in (np.float32, np.uint8):
        return None
    if made.shape == (channels, 1, 256):
        table, layout = made[:, 0, :], (True, False)
    elif made.shape == (1, 256, channels):
        table, layout = made[0].T, (False, False)
    elif made.shape == (1, 256) and channels == 1:
        table, layout = made, (False, True)
    else:
        return None
    if made.dtype == np.uint8:
        same = (table == np.arange(256, dtype=np.uint8)).all()
        return ([], *layout) if same else None
    return (np.ascontiguousarray(table).ravel().tolist(), *layout)


def chain_of(transform, kind, shape, make, finish=None, floats=False, upright=False):
    """(ImageChain, draw_one) for a transform, or None where C++ does not know it.

    ``shape`` is (height, width, channels) of the images, height and width 0 where they differ.
    ``make(array)`` gives the transform the image of ``kind`` ('pil' or 'cv2') that it would get,
    and ``finish`` is what the data set does to the result. ``floats``: the transform gets float32.
    """
    parts = _flatten(transform)
    if parts is None or any(type(one) is T.Normalize and one.to_rgb for one in parts):
        return None
    cut = next((i for i, one in enumerate(parts) if type(one) in _VALUES), len(parts))
    moves, values = parts[:cut], parts[cut:]
    if any(type(one) not in _VALUES for one in values):
        return None
    if floats and any(type(one) in _INTERPOLATING for one in moves):
        return None
    height, width, channels = shape
    steps = _Steps(kind, channels)
    for one in moves:
        if _STEPS[type(one)](steps, one) is False:
            return None
    ramp = np.arange(256, dtype=np.uint8)[None, :, None].repeat(channels, axis=2)
    finish = finish or (lambda img: img)
    found = _table(lambda img: finish(T.Compose(values)(make(img))), ramp, channels)
    if found is None:
        return None
    table, planes, flat = found
    try:
        chain = core.ImageChain(steps.steps, height, width, channels, table, planes, flat, upright)
    except ValueError:  # the images have several sizes, or are too small
        return None
    return chain, steps.draw_one if chain.params else None
