"""A part of WMT 2014, English and French.

A sample is (numbers of the source, of the target behind ``<s>``, of the target before ``<e>``).
"""

from . import common
from ._archives import open_archive
from ._sets import SETS

(_file,) = SETS["wmt14"].files
URL_TRAIN, MD5_TRAIN = _file.url, _file.md5

START, END, UNK = "<s>", "<e>", "<unk>"
UNK_IDX = 2
_LONGEST = 80  # words, with <s> and <e>


def _lines(archive, ending):
    """The lines of the members whose names end so."""
    members = [member for member in archive if member.name.endswith(ending)]
    for member in members:
        for line in archive.extractfile(member):
            yield line.decode().strip()


def _numbers(tar_file, language, dict_size):
    with open_archive(tar_file) as archive:
        words = _lines(archive, f"{language}.dict")
        return {word: number for number, word in zip(range(dict_size), words)}


def reader_creator(tar_file, file_name, dict_size):
    """A reader of pairs of sentences of up to 80 words."""

    def reader():
        source, target = (_numbers(tar_file, side, dict_size) for side in ("src", "trg"))
        with open_archive(tar_file) as archive:
            for line in _lines(archive, file_name):
                sides = line.split("\t")
                if len(sides) != 2:
                    continue
                words, reply = (side.split() for side in sides)
                said = [source.get(word, UNK_IDX) for word in [START, *words, END]]
                answer = [target.get(word, UNK_IDX) for word in reply]
                if len(said) <= _LONGEST and len(answer) <= _LONGEST:
                    yield said, [target[START], *answer], [*answer, target[END]]

    return common.limited(reader)


def train(dict_size):
    """The reader of the pairs to train with, with the ``dict_size`` most frequent words."""
    return reader_creator(_archive(), "train/train", dict_size)


def test(dict_size):
    """The reader of the pairs to test with."""
    return reader_creator(_archive(), "test/test", dict_size)


def gen(dict_size):
    """The reader of the pairs to generate from."""
    return reader_creator(_archive(), "gen/gen", dict_size)


def get_dict(dict_size, reverse=True):
    """Both dictionaries, source and target: words by number, or, without ``reverse``, numbers."""
    return dictionaries(_archive(), dict_size, reverse)


def dictionaries(tar_file, dict_size, reverse):
    """Both dictionaries in the archive of the set."""
    found = [_numbers(tar_file, side, dict_size) for side in ("src", "trg")]
    if reverse:
        found = [{number: word for word, number in one.items()} for one in found]
    return tuple(found)


def _archive():
    return common.download(URL_TRAIN, "wmt14", MD5_TRAIN)


def fetch():
    """Bring the archive into the cache."""
    _archive()
