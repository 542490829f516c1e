"""CIFAR's archives: pickles of which nothing is run."""

import tarfile
import zlib

import numpy as np

from paddle.dataset._archives import open_archive
from paddle.dataset.cifar import _unpickled


def read_cifar(path, flag):
    """Images uint8 [count, 32, 32, 3] and labels int64 [count] of the parts whose names hold
    ``flag``, in the order of their names."""
    images, labels = [], []
    try:
        with open_archive(path) as archive:
            members = [one for one in archive if one.isfile() and flag in one.name]
            for member in sorted(members, key=lambda one: one.name):
                where = f"{path}: {member.name}"
                pixels, classes = _unpickled(archive.extractfile(member).read(), where)
                images.append(_planes(pixels, where))
                labels.append(np.asarray(classes, np.int64))
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: the archive is cut short or corrupt: {error}") from error
    if not images:
        raise ValueError(f"{path}: expected parts whose names hold {flag!r}, found none")
    planes = np.concatenate(images)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), np.concatenate(labels)


def _planes(pixels, where):
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.size % 3072:
        raise ValueError(f"{where}: expected images as uint8 [count, 3072], found {type(pixels)}")
    return pixels.reshape(-1, 3, 32, 32)
