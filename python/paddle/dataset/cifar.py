"""CIFAR-10 and CIFAR-100: 50,000 small colour images to train with, 10,000 to test.

A sample is (3072 pixels as float32 in [0, 1], three planes of 32 x 32, label).
"""

import numpy as np
from paddle.base import restricted_pickle

from . import common
from ._archives import open_archive
from ._sets import SETS

(_file10,) = SETS["cifar10"].files
(_file100,) = SETS["cifar100"].files
URL_PREFIX = _file10.url.rsplit("/", 1)[0] + "/"
CIFAR10_URL, CIFAR10_MD5 = _file10.url, _file10.md5
CIFAR100_URL, CIFAR100_MD5 = _file100.url, _file100.md5


def _unpickled(content, where):
    try:
        batch = restricted_pickle.loads(content, encoding="bytes")
        pixels, labels = batch[b"data"], batch.get(b"labels", batch.get(b"fine_labels"))
        if labels is None or len(pixels) != len(labels):
            raise KeyError("as many labels as images")
    except Exception as error:  # noqa: BLE001 - a broken pickle raises anything
        raise ValueError(f"{where}: not a batch of images: {error!r}") from None
    return pixels, labels


def reader_creator(filename, sub_name, cycle=False):
    """A reader of the parts of an archive whose names hold ``sub_name``; ``cycle`` never ends."""

    def reader():
        while True:
            count = 0
            with open_archive(filename) as archive:
                for member in archive:
                    if not member.isfile() or sub_name not in member.name:
                        continue
                    where = f"{filename}: {member.name}"
                    pixels, labels = _unpickled(archive.extractfile(member).read(), where)
                    for sample, label in zip(pixels, labels):
                        count += 1
                        yield (sample / 255.0).astype(np.float32), int(label)
            if not cycle:
                return
            if count == 0:
                raise ValueError(f"{filename}: no part's name holds {sub_name!r}")

    return common.limited(reader)


def train100():
    """The reader of CIFAR-100's training images."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "train")


def test100():
    """The reader of CIFAR-100's test images."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "test")


def train10(cycle=False):
    """The reader of CIFAR-10's training images."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "data_batch", cycle)


def test10(cycle=False):
    """The reader of CIFAR-10's test images."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "test_batch", cycle)


def fetch():
    """Bring both archives into the cache."""
    common.download(CIFAR10_URL, "cifar", CIFAR10_MD5)
    common.download(CIFAR100_URL, "cifar", CIFAR100_MD5)
