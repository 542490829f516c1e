"""Sentences with translations and with roles, made on this machine in the files of the real sets."""

import collections
import gzip
import itertools
import random
import struct

import _flotilla as core
import numpy as np

from ._generate import _SEED, _tar, write

# ---- pairs of sentences


def _pairs(split, first, count):
    """Lines of news, and behind a tab the same lines from their ends: words spelled backwards."""
    lines = core.make_news(_SEED, split, first, count).splitlines()
    known = (" ".join(word for word in line.split() if word != "<unk>") for line in lines)
    return [f"{line}\t{line[::-1]}\n" for line in known]


def _packed(folder, name, parts):
    write(folder, name, _tar((part, "".join(lines).encode()) for part, lines in parts.items()))


def _words(lines, column):
    """``<s>``, ``<e>`` and ``<unk>``, then the words of a column, the most frequent first."""
    words = (line.strip().split("\t")[column].split() for line in lines)
    counts = collections.Counter(itertools.chain.from_iterable(words))
    return [f"{word}\n" for word in ("<s>", "<e>", "<unk>", *(w for w, _ in counts.most_common()))]


def wmt14(folder):
    train = _pairs("train", 0, 4000)
    parts = {
        "wmt14/src.dict": _words(train, 0),
        "wmt14/trg.dict": _words(train, 1),
        "wmt14/train/train": train,
        "wmt14/test/test": _pairs("test", 0, 400),
        "wmt14/gen/gen": _pairs("test", 400, 400),
    }
    _packed(folder, "wmt14.tgz", parts)


def wmt16(folder):
    parts = {
        "wmt16/train": _pairs("train", 0, 4000),
        "wmt16/test": _pairs("test", 0, 400),
        "wmt16/val": _pairs("test", 400, 400),
    }
    _packed(folder, "wmt16.tar.gz", parts)


# ---- sentences with roles

_WHO = "teacher farmer doctor captain painter banker child queen sailor judge".split()
_KIND = "old young tall clever tired famous quiet brave".split()
_VERBS = {
    "praised": "praise",
    "followed": "follow",
    "painted": "paint",
    "helped": "help",
    "blamed": "blame",
    "called": "call",
    "visited": "visit",
    "watched": "watch",
}
_WHEN = ("yesterday", "last week", "in the morning", "after the game", "on Monday")
_WORD_WIDTH = 32  # of the vectors of words


def _phrase(words, role):
    """Words, each with the bracket that says of which role it is part."""
    brackets = ["*"] * len(words)
    brackets[0], brackets[-1] = f"({role}" + brackets[0], brackets[-1] + ")"
    return [(word, "-", bracket) for word, bracket in zip(words, brackets)]


def _sentence(draw):
    """(word, verb or -, bracket) of each word: who did what to whom, in both voices."""

    def somebody(*before):
        kind = draw.sample(_KIND, draw.randrange(2))
        return [*before, "the", *kind, draw.choice(_WHO)]

    verb = draw.choice(sorted(_VERBS))
    done = [(verb, _VERBS[verb], "(V*)")]
    when = _phrase(draw.choice(_WHEN).split(), "AM-TMP") if draw.randrange(2) else []
    if draw.randrange(2):
        made = [*_phrase(somebody(), "A0"), *done, *_phrase(somebody(), "A1")]
    else:
        made = [*_phrase(somebody(), "A1"), ("was", "-", "*"), *done]
        made += _phrase(somebody("by"), "A0")
    return [*made, *when, (".", "-", "*")]


def conll05(folder):
    draw = random.Random(_SEED)
    sentences = [_sentence(draw) for _ in range(2000)]
    files = [
        "".join("".join(f"{line(*row)}\n" for row in rows) + "\n" for rows in sentences)
        for line in (lambda word, verb, bracket: word, lambda word, *rest: "\t".join(rest))
    ]
    members = (
        (
            f"conll05st-release/test.wsj/{kind}/test.wsj.{kind}.gz",
            gzip.compress(text.encode(), 1, mtime=0),
        )
        for kind, text in zip(("words", "props"), files)
    )
    write(folder, "conll05st-tests.tar.gz", _tar(members))
    words = sorted({row[0] for rows in sentences for row in rows})
    roles = [f"{mark}-{role}" for role in ("A0", "A1", "AM-TMP", "V") for mark in "BI"]
    vectors = np.random.RandomState(_SEED).standard_normal((len(words) + 3, _WORD_WIDTH))
    for name, lines in {
        "wordDict": ["<unk>", "bos", "eos", *words],
        "verbDict": sorted(_VERBS.values()),
        "targetDict": [*roles, "O"],
    }.items():
        write(folder, f"conll05st%2F{name}.txt", "".join(f"{one}\n" for one in lines).encode())
    header = struct.pack("<iIQ", 0, 4, vectors.size)
    write(folder, "conll05st%2Femb", header + vectors.astype("<f4").tobytes())
