"""Oxford's 102 kinds of flowers: 8189 photographs.

A sample is (3 x 224 x 224 pixels less the mean, as float32, planes of blue, green and red; label
from 0 to 101). As in Paddle the larger part of the set, ``tstid``, is to train with.
"""

import functools
import itertools
import os

from paddle.reader import map_readers, xmap_readers

from ._archives import open_archive
from ._mat import read_mat
from ._sets import SETS
from .common import download, limited
from .image import load_image_bytes, simple_transform

_files = SETS["flowers"].files
DATA_URL, LABEL_URL, SETID_URL = (file.url for file in _files)
DATA_MD5, LABEL_MD5, SETID_MD5 = (file.md5 for file in _files)
TRAIN_FLAG, TEST_FLAG, VALID_FLAG = "tstid", "trnid", "valid"


def default_mapper(is_train, sample):
    """Decode, resize to 256 and crop 224: anywhere to train, in the middle to test."""
    content, label = sample
    image = load_image_bytes(content)
    image = simple_transform(image, 256, 224, is_train, mean=[103.94, 116.78, 123.68])
    return image.flatten().astype("float32"), label


train_mapper = functools.partial(default_mapper, True)
test_mapper = functools.partial(default_mapper, False)


def _labels(label_file, setid_file, dataset_name):
    """The labels of the files of a part of the set, from 0."""
    labels = read_mat(label_file)["labels"].ravel()
    sets = read_mat(setid_file)
    if dataset_name not in sets:
        raise ValueError(f"{setid_file}: no part {dataset_name!r}, only {', '.join(sorted(sets))}")
    return {f"jpg/image_{i:05}.jpg": int(labels[i - 1]) - 1 for i in sets[dataset_name].ravel()}


def reader_creator(
    data_file,
    label_file,
    setid_file,
    dataset_name,
    mapper,
    buffered_size=1024,
    use_xmap=True,
    cycle=False,
):
    """A reader of a part of the set, in the order of the archive.

    ``mapper`` gets (content of a file, label); with ``use_xmap`` up to four threads call it, and
    samples come as they are ready.
    """
    labels = _labels(label_file, setid_file, dataset_name)

    def reader():
        for _ in itertools.repeat(None) if cycle else range(1):
            with open_archive(data_file) as archive:
                for member in archive:
                    if member.name in labels:
                        yield archive.extractfile(member).read(), labels[member.name]

    reader = limited(reader)
    if use_xmap:
        return xmap_readers(mapper, reader, min(4, os.cpu_count() or 1), buffered_size)
    return map_readers(mapper, reader)


def _reader_of(part, mapper, buffered_size, use_xmap, cycle):
    files = [download(file.url, "flowers", file.md5) for file in _files]
    return reader_creator(*files, part, mapper, buffered_size, use_xmap, cycle)


def train(mapper=train_mapper, buffered_size=1024, use_xmap=True, cycle=False):
    """The reader of the 6149 photographs to train with."""
    return _reader_of(TRAIN_FLAG, mapper, buffered_size, use_xmap, cycle)


def test(mapper=test_mapper, buffered_size=1024, use_xmap=True, cycle=False):
    """The reader of the 1020 photographs to test with."""
    return _reader_of(TEST_FLAG, mapper, buffered_size, use_xmap, cycle)


def valid(mapper=test_mapper, buffered_size=1024, use_xmap=True):
    """The reader of the 1020 photographs to validate with."""
    return _reader_of(VALID_FLAG, mapper, buffered_size, use_xmap, False)


def fetch():
    """Bring the files into the cache."""
    for file in _files:
        download(file.url, "flowers", file.md5)
