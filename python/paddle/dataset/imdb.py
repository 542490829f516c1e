"""IMDB: 25,000 reviews of films to train with, 25,000 to test; half of them praise the film.

A sample is (numbers of the words, 0 for praise or 1 for blame), first all praise, then all blame.
"""

import collections
import re
import string

from . import common
from ._archives import open_archive
from ._sets import SETS

(_file,) = SETS["imdb"].files
URL, MD5 = _file.url, _file.md5

_PUNCTUATION = string.punctuation.encode("latin-1")


def tokenize(pattern, path=None):
    """The words, as bytes in lower case, of each review whose path matches ``pattern``, by default
    in the archive of the cache."""
    with open_archive(path or common.download(URL, "imdb", MD5)) as archive:
        for member in archive:
            if member.isfile() and pattern.match(member.name):
                text = archive.extractfile(member).read()
                yield text.rstrip(b"\n\r").translate(None, _PUNCTUATION).lower().split()


def numbered(counts, least):
    """Words that occur more than ``least`` times, the most frequent first, then ``<unk>``."""
    kept = [word for word, count in counts.items() if count > least]
    kept.sort(key=lambda word: (-counts[word], word if isinstance(word, bytes) else word.encode()))
    numbers = {word: number for number, word in enumerate(kept)}
    numbers["<unk>"] = len(numbers)
    return numbers


def build_dict(pattern, cutoff, path=None):
    """The number of each word that occurs more than ``cutoff`` times."""
    counts = collections.Counter()
    for words in tokenize(pattern, path):
        counts.update(words)
    return numbered(counts, cutoff)


def reader_creator(pos_pattern, neg_pattern, word_idx, path=None):
    """A reader of the reviews whose paths match one of two patterns. They are kept in memory."""
    unknown = word_idx["<unk>"]
    samples = [
        ([word_idx.get(word, unknown) for word in words], label)
        for label, pattern in enumerate((pos_pattern, neg_pattern))
        for words in tokenize(pattern, path)
    ]

    def reader():
        yield from samples

    return common.limited(reader)


def _reader_of(split, word_idx, path=None):
    return reader_creator(
        re.compile(rf"aclImdb/{split}/pos/.*\.txt$"),
        re.compile(rf"aclImdb/{split}/neg/.*\.txt$"),
        word_idx,
        path,
    )


def train(word_idx):
    """The reader of the reviews to train with."""
    return _reader_of("train", word_idx)


def test(word_idx):
    """The reader of the reviews to test with."""
    return _reader_of("test", word_idx)


def word_dict(cutoff=150, path=None):
    """The number of each word that occurs more than ``cutoff`` times in all reviews."""
    return build_dict(re.compile(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$"), cutoff, path)


def fetch():
    """Bring the archive into the cache."""
    common.download(URL, "imdb", MD5)
