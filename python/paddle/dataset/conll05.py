"""The test sentences of CoNLL 2005, with the roles that phrases play for a verb.

A sample has nine sequences as long as the sentence: its words; five words around the verb, each
repeated; the verb, repeated; marks on those five words; the roles. All are numbers.
"""

import gzip

from . import common
from ._archives import open_archive
from ._sets import SETS

_files = SETS["conll05"].files
DATA_URL, WORDDICT_URL, VERBDICT_URL, TRGDICT_URL, EMB_URL = (file.url for file in _files)
DATA_MD5, WORDDICT_MD5, VERBDICT_MD5, TRGDICT_MD5, EMB_MD5 = (file.md5 for file in _files)

UNK_IDX = 0


def load_dict(filename):
    """The number of the line on which each word stands."""
    with open(filename) as file:
        return {line.strip(): number for number, line in enumerate(file)}


def load_label_dict(filename):
    """Two numbers for each role, for its first word and for the others, then one for ``O``."""
    with open(filename) as file:
        roles = {line.strip()[2:] for line in file if line.startswith(("B-", "I-"))}
    labels = [f"{mark}-{role}" for role in sorted(roles) for mark in "BI"]
    return {label: number for number, label in enumerate([*labels, "O"])}


def _roles(brackets, where):
    """``(A0* * *) * (V*)`` as B-A0 I-A0 I-A0 O B-V."""
    roles, role, inside = [], "", False
    for bracket in brackets:
        if bracket.startswith("(") and "*" in bracket:
            role = bracket[1 : bracket.index("*")]
            roles.append(f"B-{role}")
            inside = not bracket.endswith(")")
        elif bracket in ("*", "*)"):
            roles.append(f"I-{role}" if inside or bracket == "*)" else "O")
            inside = inside and bracket == "*"
        else:
            raise ValueError(f"{where}: expected a bracket such as (A0* or *), found {bracket!r}")
    return roles


def corpus_reader(data_path, words_name, props_name):
    """A reader of (words of a sentence, verb, roles), once for each verb of a sentence."""

    def verbs_of(words, rows, line):
        verbs = [row[0] for row in rows if row[0] != "-"]
        for verb, column in zip(verbs, range(1, len(rows[0]))):
            where = f"{data_path}: {props_name}: sentence that ends in line {line}"
            yield words, verb, _roles([row[column] for row in rows], where)

    def unpacked(archive, name):
        return gzip.decompress(archive.extractfile(name).read()).decode().splitlines()

    def reader():
        with open_archive(data_path) as archive:
            files = [unpacked(archive, name) for name in (words_name, props_name)]
        words, rows = [], []
        for line, (word, fields) in enumerate(zip(*files), 1):
            if fields.split():
                words.append(word.strip())
                rows.append(fields.split())
            else:
                if rows:
                    yield from verbs_of(words, rows, line)
                words, rows = [], []

    return reader


def reader_creator(corpus_reader, word_dict=None, predicate_dict=None, label_dict=None):
    """A reader of numbers for what a reader of sentences gives."""

    def number(word):
        return word_dict.get(word, UNK_IDX)

    def reader():
        for words, verb, roles in corpus_reader():
            length, at = len(words), roles.index("B-V")
            padded = ["bos", "bos", *words, "eos", "eos"]
            around = [[number(word)] * length for word in padded[at : at + 5]]
            marks = [int(abs(place - at) <= 2) for place in range(length)]
            yield (
                [number(word) for word in words],
                *around,
                [predicate_dict.get(verb)] * length,
                marks,
                [label_dict.get(role) for role in roles],
            )

    return reader


def get_dict():
    """The numbers of words, of verbs and of roles."""
    return (
        load_dict(common.download(WORDDICT_URL, "conll05st", WORDDICT_MD5)),
        load_dict(common.download(VERBDICT_URL, "conll05st", VERBDICT_MD5)),
        load_label_dict(common.download(TRGDICT_URL, "conll05st", TRGDICT_MD5)),
    )


def get_embedding():
    """The path of the vectors of the words."""
    return common.download(EMB_URL, "conll05st", EMB_MD5)


def test_reader(data_path):
    """A reader of the test sentences in the archive of the set."""
    names = [f"conll05st-release/test.wsj/{kind}/test.wsj.{kind}.gz" for kind in ("words", "props")]
    return corpus_reader(data_path, *names)


def test():
    """The reader of the test sentences; those to train with are not free."""
    sentences = test_reader(common.download(DATA_URL, "conll05st", DATA_MD5))
    return common.limited(reader_creator(sentences, *get_dict()))


def fetch():
    """Bring the files into the cache."""
    get_dict()
    get_embedding()
    common.download(DATA_URL, "conll05st", DATA_MD5)
