"""Cifar10 and Cifar100."""

import numpy as np

import _flotilla as core

from paddle.dataset import cifar as _cifar
from paddle.io.dataset import Dataset

from ._common import InMemory, check_backend, check_mode, fetched
from ._files import read_cifar


class Cifar10(InMemory, Dataset):
    """Photographs of 32 x 32 pixels: ``dataset[i]`` is an image and its label, int64 [].

    With ``backend='pil'`` the image is PIL's, with 'cv2' an array [32, 32, 3]: bytes for the
    transform, float32 from 0 to 255 as an item.
    """

    _URL, _MD5 = _cifar.CIFAR10_URL, _cifar.CIFAR10_MD5
    _PARTS = {"train": "data_batch", "test": "test_batch"}

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        self.mode = check_mode(mode, ("train", "test"))
        self.backend = check_backend(backend)
        self.data_file = data_file or fetched(self._URL, "cifar", self._MD5, download, "data_file")
        self.transform = transform
        self.flag = self._PARTS[self.mode]
        limit = core.dataset_limit()
        self.images, self.labels = (part[:limit] for part in read_cifar(self.data_file, self.flag))
        self.dtype = "float32"

    @property
    def data(self):
        """Pairs of planes, uint8 [3072], and label."""
        planes = self.images.transpose(0, 3, 1, 2).reshape(len(self), 3072)
        return list(zip(planes, self.labels.tolist()))

    def __getitem__(self, idx):
        return self._image(idx), np.array(self.labels[idx])

    def __len__(self):
        return len(self.labels)

    def _flt_arrays(self):
        return self._chained(self.labels)


class Cifar100(Cifar10):
    """The same with 100 classes (the fine labels)."""

    _URL, _MD5 = _cifar.CIFAR100_URL, _cifar.CIFAR100_MD5
    _PARTS = {"train": "train", "test": "test"}
