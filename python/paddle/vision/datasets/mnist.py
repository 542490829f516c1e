"""MNIST and FashionMNIST."""

import numpy as np

import _flotilla as core
from paddle.dataset._sets import SETS
from paddle.io.dataset import Dataset

from ._common import InMemory, check_backend, check_mode, fetched


class MNIST(InMemory, Dataset):
    """Digits of 28 x 28 pixels: ``dataset[i]`` is an image and its label, int64 [1].

    Without a transform the image is what programs feed: float32 [1, 28, 28] in [-1, 1]. A
    ``transform`` gets the image as PIL has it; with ``backend='cv2'`` images are float32 [28, 28],
    from 0 to 255.
    """

    NAME = "mnist"

    def __init__(
        self,
        image_path=None,
        label_path=None,
        mode="train",
        transform=None,
        download=True,
        backend=None,
    ):
        self.mode = check_mode(mode, ("train", "test"))
        self.backend = check_backend(backend)
        self.image_path = image_path or self._file("images-idx3", download, "image_path")
        self.label_path = label_path or self._file("labels-idx1", download, "label_path")
        self.transform = transform
        images, labels = core.read_mnist(str(self.image_path), str(self.label_path))
        limit = core.dataset_limit()
        self.images = images[:limit]
        self.labels = labels[:limit].astype(np.int64)[:, None]
        self.dtype = "float32"

    def _file(self, part, download, word):
        name = f"{'train' if self.mode == 'train' else 't10k'}-{part}-ubyte.gz"
        (file,) = (one for one in SETS[self.NAME].files if one.name == name)
        return fetched(file.url, self.NAME, file.md5, download, word)

    def _given(self, pixels):
        if self.transform is None and self.backend == "pil":
            return pixels
        return super()._given(pixels) if self.backend == "pil" else pixels.astype(np.float32)

    def _finished(self, image):
        if self.transform is None and self.backend == "pil":
            # What a program is fed: float32 [1, height, width] in [-1, 1].
            return (image.astype(np.float32) / np.float32(255) * 2 - 1)[None]
        return super()._finished(image)

    def __getitem__(self, idx):
        return self._image(idx), self.labels[idx]

    def __len__(self):
        return len(self.labels)

    def _flt_arrays(self):
        return self._chained(self.labels, floats=self.backend == "cv2")


class FashionMNIST(MNIST):
    """Clothes of 28 x 28 pixels, in MNIST's files."""

    NAME = "fashion-mnist"
