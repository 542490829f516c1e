"""Oxford's 102 kinds of flowers."""

import os
import re
import shutil
import tarfile
import tempfile
import zlib

import numpy as np

import _flotilla as core

from paddle.dataset import flowers as _flowers
from paddle.dataset._archives import open_archive
from paddle.dataset._mat import read_mat
from paddle.io._arrays import Field, FileField
from paddle.io.dataset import Dataset

from .._chain import chain_of
from ..image import from_array, open_pil
from ._common import check_backend, check_mode, fetched

_FILES = {
    "data_file": (_flowers.DATA_URL, _flowers.DATA_MD5),
    "label_file": (_flowers.LABEL_URL, _flowers.LABEL_MD5),
    "setid_file": (_flowers.SETID_URL, _flowers.SETID_MD5),
}
# Paddle trains on the largest part, which its authors meant for tests.
_PARTS = {"train": "tstid", "test": "trnid", "valid": "valid"}
_MEMBER = re.compile(r"(\./)?jpg/image_\d{5}\.jpg")


def _extract(archive, folder):
    """The images of an archive, and nothing else of it, whole or not at all."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    made = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".", dir=os.path.dirname(folder))
    try:
        os.mkdir(os.path.join(made, "jpg"))
        with open_archive(archive) as tar:
            for member in tar:
                if member.isfile() and _MEMBER.fullmatch(member.name):
                    path = os.path.join(made, "jpg", os.path.basename(member.name))
                    with open(path, "wb") as file:
                        shutil.copyfileobj(tar.extractfile(member), file)
        os.rename(made, folder)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(f"{archive}: the archive cannot be read: {error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def unpacked(archive):
    """The folder with the images of an archive: beside it or, where that cannot be written, in
    Flotilla's cache. Unpacked once."""
    status = os.stat(archive)
    cache = os.path.join(os.path.expanduser("~"), ".cache", "flotilla", "flowers")
    beside = re.sub(r"(\.tgz|\.tar\.gz|\.tar)?$", "", os.path.abspath(archive), count=1)
    names = (beside + "_images", os.path.join(cache, f"{status.st_size}-{status.st_mtime_ns}"))
    for folder in names:
        if os.path.isdir(os.path.join(folder, "jpg")):
            return folder
    for folder in names:
        try:
            _extract(archive, folder)
            return folder
        except (PermissionError, OSError):
            if os.path.isdir(os.path.join(folder, "jpg")):  # another process was faster
                return folder
            if folder == names[-1]:
                raise
    raise AssertionError("unreachable")


def _matrix(path, name):
    found = read_mat(path)
    if name not in found:
        raise ValueError(f"{path}: expected a matrix {name!r}, found {', '.join(sorted(found))}")
    return found[name].ravel().astype(np.int64)


class Flowers(Dataset):
    """Photographs of several sizes: ``dataset[i]`` is an image and its label, int64 [1], from 1 on.

    With ``backend='pil'`` the image is PIL's, with 'cv2' an array [height, width, 3]: bytes for the
    transform, float32 from 0 to 255 as an item.
    """

    def __init__(
        self,
        data_file=None,
        label_file=None,
        setid_file=None,
        mode="train",
        transform=None,
        download=True,
        backend=None,
    ):
        self.mode = check_mode(mode, ("train", "valid", "test"))
        self.backend = check_backend(backend)
        given = {"data_file": data_file, "label_file": label_file, "setid_file": setid_file}
        for word, path in given.items():
            if not path:
                url, md5 = _FILES[word]
                given[word] = fetched(url, "flowers", md5, download, word)
        self.transform = transform
        self.labels = _matrix(given["label_file"], "labels")
        self.indexes = _matrix(given["setid_file"], _PARTS[self.mode])
        if any(index < 1 or index > len(self.labels) for index in self.indexes):
            raise ValueError(
                f"{given['setid_file']}: images are numbered from 1 to {len(self.labels)}, the "
                f"number of labels, but there are {self.indexes.min()} and {self.indexes.max()}"
            )
        self.indexes = self.indexes[: core.dataset_limit()]
        self.data_path = unpacked(given["data_file"])
        self.dtype = "float32"

    def _path(self, index):
        return os.path.join(self.data_path, "jpg", f"image_{index:05d}.jpg")

    def __getitem__(self, idx):
        index = int(self.indexes[idx])
        path = self._path(index)
        image = open_pil(path) if self.backend == "pil" else np.array(open_pil(path))
        image = image if self.transform is None else self.transform(image)
        image = image if self.backend == "pil" else image.astype(self.dtype)
        return image, self.labels[index - 1 : index]

    def __len__(self):
        return len(self.indexes)

    def _flt_arrays(self):
        pil = self.backend == "pil"
        found = chain_of(
            self.transform,
            self.backend,
            (0, 0, 3),
            from_array if pil else (lambda ramp: ramp),
            None if pil else (lambda image: image.astype(self.dtype)),
        )
        if found is None:
            return None
        files = [self._path(int(index)) for index in self.indexes]
        labels = self.labels[self.indexes - 1][:, None]
        return [FileField(files, *found), Field(labels)]
