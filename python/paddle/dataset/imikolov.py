"""The part of the Penn Treebank that comes with Mikolov's examples, for models of language.

A sample is a tuple of n words' numbers, or a pair of sequences of which one runs a word ahead.
"""

import collections

from . import common
from ._archives import open_archive
from ._sets import SETS
from .imdb import numbered

(_file,) = SETS["imikolov"].files
URL, MD5 = _file.url, _file.md5


class DataType:
    NGRAM = 1
    SEQ = 2


def word_count(f, word_freq=None):
    """How often each word occurs in the lines of ``f``, added to ``word_freq``."""
    counts = collections.defaultdict(int) if word_freq is None else word_freq
    for line in f:
        for word in line.split():
            counts[word] += 1
        counts["<s>"] += 1
        counts["<e>"] += 1
    return counts


def _member(archive, name):
    try:
        return archive.extractfile(name)
    except KeyError:
        raise ValueError(f"{archive.name}: {name} is missing") from None


def build_dict(min_word_freq=50, path=None):
    """The number of each word that occurs more than ``min_word_freq`` times.

    Words are bytes; ``<s>``, ``<e>`` and ``<unk>`` are texts.
    """
    with open_archive(path or common.download(URL, "imikolov", MD5)) as archive:
        counts = None
        for part in ("train", "valid"):
            counts = word_count(_member(archive, f"./simple-examples/data/ptb.{part}.txt"), counts)
    return numbered(counts, min_word_freq)


def reader_creator(filename, word_idx, n, data_type, path=None):
    """A reader of one file of the archive.

    ``DataType.NGRAM``: every ``n`` words in a row. ``DataType.SEQ``: sentences of up to ``n``
    words, or of any length for 0.
    """
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise ValueError(f"data_type must be DataType.NGRAM or DataType.SEQ, but is {data_type!r}")
    if data_type == DataType.NGRAM and n < 0:
        raise ValueError(f"n must not be negative, but is {n}")
    unknown = word_idx["<unk>"]

    def numbers(words):
        return [word_idx.get(word, unknown) for word in words]

    def ngrams(words):
        line = numbers(["<s>", *words, "<e>"])
        if len(line) >= n:
            for end in range(n, len(line) + 1):
                yield tuple(line[end - n : end])

    def sequences(words):
        line = numbers(words)
        source, target = [word_idx["<s>"], *line], [*line, word_idx["<e>"]]
        if n <= 0 or len(source) <= n:
            yield source, target

    def reader():
        make = ngrams if data_type == DataType.NGRAM else sequences
        with open_archive(path or common.download(URL, "imikolov", MD5)) as archive:
            for line in _member(archive, filename):
                yield from make(line.split())

    return common.limited(reader)


def train(word_idx, n, data_type=DataType.NGRAM):
    """The reader of the text to train with."""
    return reader_creator("./simple-examples/data/ptb.train.txt", word_idx, n, data_type)


def test(word_idx, n, data_type=DataType.NGRAM):
    """The reader of the text to validate with."""
    return reader_creator("./simple-examples/data/ptb.valid.txt", word_idx, n, data_type)


def fetch():
    """Bring the archive into the cache."""
    common.download(URL, "imikolov", MD5)
