"""UCI's housing data: 506 districts of Boston, 404 to train with, 102 to test.

A sample is (13 features, [median price]), as float64. A feature is scaled by its mean and its range
over all rows.
"""

import numpy as np

from . import common
from ._sets import SETS

(_file,) = SETS["uci_housing"].files
URL, MD5 = _file.url, _file.md5

feature_names = [
    *("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B"),
    "LSTAT",
]

UCI_TRAIN_DATA = None
UCI_TEST_DATA = None

_loaded = None  # the file whose rows these are


def load_data(filename, feature_num=14, ratio=0.8):
    """Read and scale the table; ``ratio`` of its rows are to train with."""
    global UCI_TRAIN_DATA, UCI_TEST_DATA, _loaded
    if UCI_TRAIN_DATA is not None and _loaded == (filename, feature_num, ratio):
        return
    table = _read(filename, feature_num)
    least, most = table.min(axis=0), table.max(axis=0)
    mean = table.sum(axis=0) / len(table)
    features = slice(0, feature_num - 1)
    if (least == most)[features].any():
        constant = int(np.flatnonzero(least == most)[0])
        raise ValueError(f"{filename}: column {constant} has the same number in every row")
    table[:, features] = ((table - mean) / (most - least))[:, features]
    rows = int(len(table) * ratio)
    UCI_TRAIN_DATA, UCI_TEST_DATA = table[:rows], table[rows:]
    _loaded = filename, feature_num, ratio


def _read(filename, columns):
    """Numbers with blanks between them. Line ends do not matter, as the real file wraps rows."""
    numbers = []
    with open(filename) as file:
        for number, line in enumerate(file, 1):
            for field in line.split():
                try:
                    numbers.append(float(field))
                except ValueError:
                    raise ValueError(
                        f"{filename}: line {number}: expected a number, found {field!r}"
                    ) from None
    if not numbers or len(numbers) % columns:
        raise ValueError(
            f"{filename}: expected rows of {columns} numbers, found {len(numbers)} numbers"
        )
    return np.array(numbers).reshape(-1, columns)


def _reader(rows):
    def reader():
        for row in rows:
            yield row[:-1], row[-1:]

    return common.limited(reader)


def train():
    """The reader of the rows to train with."""
    load_data(common.download(URL, "uci_housing", MD5))
    return _reader(UCI_TRAIN_DATA)


def test():
    """The reader of the rows to test with."""
    load_data(common.download(URL, "uci_housing", MD5))
    return _reader(UCI_TEST_DATA)


def predict_reader():
    """The features of the first row to test with, in a tuple."""
    load_data(common.download(URL, "uci_housing", MD5))
    return (UCI_TEST_DATA[0][:-1],)


def fetch():
    """Bring the file into the cache."""
    common.download(URL, "uci_housing", MD5)
