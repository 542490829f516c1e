"""A click log in the format of Criteo's, generated: the real one is not free to download.

A line is the label, 13 whole numbers and 26 hashed categories, separated by tabs; fields may be
blank. ``paddle.distributed.QueueDataset`` and the built-in parser read the files; the readers here
split their lines.
"""

import glob
import os

from . import _sets, common


def _files(split):
    real = os.path.join(common.DATA_HOME, "criteo", split)
    found = sorted(glob.glob(os.path.join(real, "part-*")))
    if found:
        return found
    folder = _sets.locate("criteo", common.DATA_HOME).folder
    return sorted(glob.glob(os.path.join(folder, split, "part-*")))


def train_files():
    """Paths of the files to train with: ``train/part-*`` in the cache, or generated ones."""
    return _files("train")


def test_files():
    """Paths of the files to test with: ``test/part-*`` in the cache, or generated ones."""
    return _files("test")


def _reader(files):
    def reader():
        for path in files:
            with open(path) as file:
                for number, line in enumerate(file, 1):
                    fields = line.rstrip("\n").split("\t")
                    if len(fields) != 40:
                        raise ValueError(
                            f"{path}: line {number}: expected 40 fields, found {len(fields)}"
                        )
                    integers = [int(field) if field else None for field in fields[1:14]]
                    yield int(fields[0]), integers, fields[14:]

    return reader


def train():
    """The reader of (label, 13 numbers or None, 26 texts) to train with."""
    return _reader(train_files())


def test():
    """The reader of (label, 13 numbers or None, 26 texts) to test with."""
    return _reader(test_files())


def fetch():
    """Make the files if they are missing."""
    train_files()
