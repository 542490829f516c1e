"""A part of WMT 2016: descriptions of pictures in English and German.

A sample is (numbers of the source between ``<s>`` and ``<e>``, of the target behind ``<s>``, of the
target before ``<e>``).
"""

import collections

from . import common
from ._archives import open_archive
from ._sets import SETS

(_file,) = SETS["wmt16"].files
DATA_URL, DATA_MD5 = _file.url, _file.md5

TOTAL_EN_WORDS = 11250
TOTAL_DE_WORDS = 19220
START_MARK, END_MARK, UNK_MARK = "<s>", "<e>", "<unk>"

_LANGUAGES = {"en": (0, TOTAL_EN_WORDS), "de": (1, TOTAL_DE_WORDS)}  # column, number of words


def _check(lang):
    if lang not in _LANGUAGES:
        raise ValueError(f"a language is 'en' or 'de', but is {lang!r}")


def _pairs(tar_file, name):
    """The words in both columns of each line."""
    with open_archive(tar_file) as archive:
        for line in archive.extractfile(name):
            columns = line.decode().strip().split("\t")
            if len(columns) == 2:
                yield [column.split() for column in columns]


def _numbers(tar_file, lang, dict_size):
    """Marks first, then words by how often they occur, of equal ones the first to come."""
    column, total = _LANGUAGES[lang]
    counts = collections.Counter()
    for pair in _pairs(tar_file, "wmt16/train"):
        counts.update(pair[column])
    words = [START_MARK, END_MARK, UNK_MARK, *(word for word, _ in counts.most_common())]
    return {word: number for number, word in enumerate(words[: min(dict_size, total)])}


def reader_creator(tar_file, file_name, src_dict_size, trg_dict_size, src_lang):
    """A reader of one file of the archive."""
    _check(src_lang)
    trg_lang = "de" if src_lang == "en" else "en"

    def reader():
        source = _numbers(tar_file, src_lang, src_dict_size)
        target = _numbers(tar_file, trg_lang, trg_dict_size)
        start, end, unknown = (source[mark] for mark in (START_MARK, END_MARK, UNK_MARK))
        for pair in _pairs(tar_file, file_name):
            said, reply = pair if src_lang == "en" else reversed(pair)
            answer = [target.get(word, unknown) for word in reply]
            said = [source.get(word, unknown) for word in said]
            yield [start, *said, end], [start, *answer], [*answer, end]

    return common.limited(reader)


def _archive():
    return common.download(DATA_URL, "wmt16", DATA_MD5)


def train(src_dict_size, trg_dict_size, src_lang="en"):
    """The reader of the pairs to train with."""
    return reader_creator(_archive(), "wmt16/train", src_dict_size, trg_dict_size, src_lang)


def test(src_dict_size, trg_dict_size, src_lang="en"):
    """The reader of the pairs to test with."""
    return reader_creator(_archive(), "wmt16/test", src_dict_size, trg_dict_size, src_lang)


def validation(src_dict_size, trg_dict_size, src_lang="en"):
    """The reader of the pairs to validate with."""
    return reader_creator(_archive(), "wmt16/val", src_dict_size, trg_dict_size, src_lang)


def get_dict(lang, dict_size, reverse=False):
    """The number of each word of a language, or, with ``reverse``, the words by number."""
    return dictionary(_archive(), lang, dict_size, reverse)


def dictionary(tar_file, lang, dict_size, reverse):
    """The same of the archive of the set."""
    _check(lang)
    numbers = _numbers(tar_file, lang, dict_size)
    return {number: word for word, number in numbers.items()} if reverse else numbers


def fetch():
    """Bring the archive into the cache."""
    _archive()
