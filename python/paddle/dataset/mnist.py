"""MNIST: 60,000 handwritten digits to train with, 10,000 to test.

A sample is (784 pixels as float32 in [-1, 1], label).
"""

import _flotilla as core
import numpy as np

from . import common
from ._sets import SETS

_files = SETS["mnist"].files
URL_PREFIX = _files[0].url.rsplit("/", 1)[0] + "/"
TRAIN_IMAGE_URL, TRAIN_LABEL_URL, TEST_IMAGE_URL, TEST_LABEL_URL = (f.url for f in _files)
TRAIN_IMAGE_MD5, TRAIN_LABEL_MD5, TEST_IMAGE_MD5, TEST_LABEL_MD5 = (f.md5 for f in _files)

# What a byte becomes, in single precision at every step.
_SCALE = np.arange(256, dtype=np.float32) / np.float32(255) * np.float32(2) - np.float32(1)


def reader_creator(image_filename, label_filename, buffer_size):
    """A reader of a pair of IDX files, packed or not; ``buffer_size`` images are scaled at once."""

    def reader():
        pixels, labels = core.read_mnist(str(image_filename), str(label_filename))
        pixels = pixels.reshape(len(labels), -1)
        for first in range(0, len(labels), buffer_size):
            scaled = _SCALE[pixels[first : first + buffer_size]]
            yield from zip(scaled, labels[first : first + buffer_size].tolist())

    return common.limited(reader)


def train():
    """The reader of the training images."""
    return reader_creator(
        common.download(TRAIN_IMAGE_URL, "mnist", TRAIN_IMAGE_MD5),
        common.download(TRAIN_LABEL_URL, "mnist", TRAIN_LABEL_MD5),
        100,
    )


def test():
    """The reader of the test images."""
    return reader_creator(
        common.download(TEST_IMAGE_URL, "mnist", TEST_IMAGE_MD5),
        common.download(TEST_LABEL_URL, "mnist", TEST_LABEL_MD5),
        100,
    )


def fetch():
    """Bring the files into the cache."""
    for file in _files:
        common.download(file.url, "mnist", file.md5)
