"""NLTK's reviews of films: 1,600 to train with, 400 to test, praise and blame in turn.

A sample is (numbers of the words, 0 for blame or 1 for praise).
"""

import collections
import functools
import re
import zipfile

from . import common
from ._sets import SETS

(_file,) = SETS["sentiment"].files
URL, MD5 = _file.url, _file.md5

NUM_TRAINING_INSTANCES = 1600
NUM_TOTAL_INSTANCES = 2000


@functools.lru_cache(maxsize=1)
def _reviews(path):
    """The words of all reviews, blame and praise in turn."""
    with zipfile.ZipFile(path) as archive:
        kinds = [
            sorted(one for one in archive.namelist() if f"/{kind}/" in one and one.endswith(".txt"))
            for kind in ("neg", "pos")
        ]
        return [
            (re.findall(r"\w+|[^\w\s]+", archive.read(name).decode("latin-1")), label)
            for pair in zip(*kinds)
            for label, name in enumerate(pair)
        ]


def _all():
    return _reviews(common.download(URL, "corpora", MD5))


def get_word_dict():
    """[(word, number)], the most frequent word first."""
    by_kind = sorted(_all(), key=lambda sample: sample[1])
    counts = collections.Counter(word.lower() for words, _ in by_kind for word in words)
    ranked = sorted(counts, key=lambda word: -counts[word])  # of equals, the one seen first
    return [(word, number) for number, word in enumerate(ranked)]


def load_sentiment_data():
    """All samples."""
    numbers = dict(get_word_dict())
    return [([numbers[word.lower()] for word in words], label) for words, label in _all()]


def reader_creator(data):
    yield from data


def train():
    """An iterator over the samples to train with."""
    return reader_creator(load_sentiment_data()[:NUM_TRAINING_INSTANCES])


def test():
    """An iterator over the samples to test with."""
    return reader_creator(load_sentiment_data()[NUM_TRAINING_INSTANCES:])


def fetch():
    """Bring the archive into the cache."""
    common.download(URL, "corpora", MD5)
