"""What the data sets of images share."""

import numpy as np

from paddle.io._arrays import Field

from .._chain import chain_of
from ..image import from_array, get_image_backend


def check_mode(mode, modes):
    found = mode.lower()
    words = " or ".join(repr(one) for one in modes)
    assert found in modes, f"mode should be {words}, but got {mode}"
    return found


def check_backend(backend):
    backend = get_image_backend() if backend is None else backend
    if backend not in ("pil", "cv2"):
        raise ValueError(f"Expected backend are one of ['pil', 'cv2'], but got {backend}")
    return backend


def fetched(url, name, md5, download, word):
    """The path of a file of a set: from the cache, the network, or generated."""
    from paddle.dataset import common

    assert download, f"{word} is not set and downloading automatically is disabled"
    return common.download(url, name, md5)


class InMemory:
    """A set whose images lie in memory, uint8 [count, height, width] or [.., channels].

    A class says in ``_given`` what the transform gets, and in ``_finished`` what becomes of its
    result.
    """

    def _image(self, idx):
        image = self._given(self.images[idx])
        return self._finished(image if self.transform is None else self.transform(image))

    def _given(self, pixels):
        if self.backend == "pil":
            return from_array(np.ascontiguousarray(pixels))
        return pixels

    def _finished(self, image):
        return image if self.backend == "pil" else image.astype(self.dtype)

    def _chained(self, labels, floats=False):
        """The fields of the set, or None where the transform is not known to C++."""
        shape = self.images.shape[1:]
        flat = len(shape) == 2
        found = chain_of(
            self.transform,
            self.backend,
            (*shape, 1) if flat else shape,
            lambda ramp: self._given(ramp[:, :, 0] if flat else ramp),
            self._finished,
            floats=floats,
        )
        if found is None:
            return None
        chain, draw_one = found
        draw = None
        if draw_one is not None:
            height, width = shape[:2]

            def draw(indices):
                drawn = [draw_one(height, width) for _ in indices]
                return np.array(drawn, np.int32).reshape(len(drawn), chain.params)

        return [Field(self.images, chain, draw), Field(labels)]
