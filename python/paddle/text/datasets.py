"""The sets of ``paddle.dataset`` by number."""

import numpy as np
from paddle.dataset import conll05, imdb, imikolov, movielens, uci_housing, wmt14, wmt16
from paddle.dataset._sets import SETS
from paddle.io.dataset import Dataset
from paddle.vision.datasets._common import check_mode, fetched

__all__ = ["Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "WMT14", "WMT16"]


def _file_of(name, number, download, word):
    file = SETS[name].files[number]
    return fetched(file.url, SETS[name].module, file.md5, download, word)


class _InMemory(Dataset):
    """Samples in a list; each is a tuple of arrays."""

    _modes = ("train", "test")

    def __init__(self, name, data_file, mode, download):
        self.mode = check_mode(mode, self._modes)
        self.data_file = data_file or _file_of(name, 0, download, "data_file")
        self.data = [self._sample(one) for one in self._samples()]

    def __getitem__(self, idx):
        return self.data[idx]

    def __len__(self):
        return len(self.data)


class UCIHousing(_InMemory):
    """Districts of Boston: 13 scaled features and the price, float32."""

    def __init__(self, data_file=None, mode="train", download=True):
        super().__init__("uci_housing", data_file, mode, download)
        self.dtype = "float32"

    def _samples(self):
        uci_housing.load_data(self.data_file)
        train = self.mode == "train"
        return uci_housing.UCI_TRAIN_DATA if train else uci_housing.UCI_TEST_DATA

    def _sample(self, row):
        return row[:-1].astype("float32"), row[-1:].astype("float32")


class Imdb(_InMemory):
    """Reviews of films: the numbers of their words, and 0 for praise or 1 for blame.

    Words that occur ``cutoff`` times or less are one and the same, ``<unk>``.
    """

    def __init__(self, data_file=None, mode="train", cutoff=150, download=True):
        self._cutoff = cutoff
        super().__init__("imdb", data_file, mode, download)

    def _samples(self):
        self.word_idx = imdb.word_dict(self._cutoff, self.data_file)
        return imdb._reader_of(self.mode, self.word_idx, self.data_file)()

    def _sample(self, sample):
        words, label = sample
        return np.array(words), np.array([label])


class Imikolov(_InMemory):
    """Lines of news: ``window_size`` words in a row (NGRAM), or a line and the next words (SEQ)."""

    def __init__(
        self,
        data_file=None,
        data_type="NGRAM",
        window_size=-1,
        mode="train",
        min_word_freq=50,
        download=True,
    ):
        self.data_type = data_type.upper()
        if self.data_type not in ("NGRAM", "SEQ"):
            raise AssertionError(f"data_type should be 'NGRAM' or 'SEQ', but got {data_type}")
        if self.data_type == "NGRAM" and window_size < 0:
            raise AssertionError(f"NGRAM needs a window_size, but got {window_size}")
        self.window_size, self.min_word_freq = window_size, min_word_freq
        super().__init__("imikolov", data_file, mode, download)

    def _samples(self):
        self.word_idx = imikolov.build_dict(self.min_word_freq, self.data_file)
        name = f"./simple-examples/data/ptb.{self.mode}.txt"
        kind = getattr(imikolov.DataType, self.data_type)
        words = (name, self.word_idx, self.window_size, kind, self.data_file)
        return imikolov.reader_creator(*words)()

    def _sample(self, sample):
        return tuple(np.array(one) for one in sample)


class Movielens(_InMemory):
    """Ratings of movies: user, gender, age, job, movie, its kinds, words of its title, rating.

    ``test_ratio`` of all ratings, chosen by ``rand_seed``, are for testing.
    """

    def __init__(self, data_file=None, mode="train", test_ratio=0.1, rand_seed=0, download=True):
        self.test_ratio, self.rand_seed = test_ratio, rand_seed
        super().__init__("movielens", data_file, mode, download)

    def _samples(self):
        is_test = self.mode == "test"
        words = (is_test, self.rand_seed, self.test_ratio, self.data_file)
        return movielens._reader_creator(*words)()

    def _sample(self, sample):
        return tuple(np.array(one if isinstance(one, list) else [one]) for one in sample)


class Conll05st(Dataset):
    """Sentences with the roles that phrases play for a verb: nine arrays, as long as the sentence."""

    _FILES = ("data_file", "word_dict_file", "verb_dict_file", "target_dict_file", "emb_file")

    def __init__(
        self,
        data_file=None,
        word_dict_file=None,
        verb_dict_file=None,
        target_dict_file=None,
        emb_file=None,
        download=True,
    ):
        given = (data_file, word_dict_file, verb_dict_file, target_dict_file, emb_file)
        for number, (word, path) in enumerate(zip(self._FILES, given)):
            setattr(self, word, path or _file_of("conll05", number, download, word))
        self.word_dict = conll05.load_dict(self.word_dict_file)
        self.predicate_dict = conll05.load_dict(self.verb_dict_file)
        self.label_dict = conll05.load_label_dict(self.target_dict_file)
        samples = conll05.reader_creator(conll05.test_reader(self.data_file), *self.get_dict())
        self.data = [tuple(np.array(one) for one in sample) for sample in samples()]

    def __getitem__(self, idx):
        return self.data[idx]

    def __len__(self):
        return len(self.data)

    def get_dict(self):
        """The numbers of words, of verbs and of roles."""
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self):
        """The path of the vectors of the words."""
        return self.emb_file


def _sized(word, size):
    assert size > 0, f"{word} should be set as positive number, but got {size}"
    return size


class WMT14(_InMemory):
    """Sentences and their translations: source, target behind ``<s>``, target before ``<e>``."""

    _modes = ("train", "test", "gen")

    def __init__(self, data_file=None, mode="train", dict_size=-1, download=True):
        self.dict_size = _sized("dict_size", dict_size)
        super().__init__("wmt14", data_file, mode, download)

    def _samples(self):
        name = f"{self.mode}/{self.mode}"
        return wmt14.reader_creator(self.data_file, name, self.dict_size)()

    def _sample(self, sample):
        return tuple(np.array(one) for one in sample)

    def get_dict(self, reverse=False):
        """Both dictionaries, source and target: numbers by word, or with ``reverse`` words."""
        return wmt14.dictionaries(self.data_file, self.dict_size, reverse)


class WMT16(_InMemory):
    """Descriptions of pictures and their translations, in the form of WMT14."""

    _modes = ("train", "test", "val")

    def __init__(
        self,
        data_file=None,
        mode="train",
        src_dict_size=-1,
        trg_dict_size=-1,
        lang="en",
        download=True,
    ):
        self.lang = lang
        self.src_dict_size = _sized("src_dict_size", src_dict_size)
        self.trg_dict_size = _sized("trg_dict_size", trg_dict_size)
        super().__init__("wmt16", data_file, mode, download)

    def _samples(self):
        sizes = (self.src_dict_size, self.trg_dict_size)
        return wmt16.reader_creator(self.data_file, f"wmt16/{self.mode}", *sizes, self.lang)()

    def _sample(self, sample):
        return tuple(np.array(one) for one in sample)

    def get_dict(self, lang, reverse=False):
        """The number of each word of a language, or, with ``reverse``, the words by number."""
        size = self.src_dict_size if lang == self.lang else self.trg_dict_size
        return wmt16.dictionary(self.data_file, lang, size, reverse)
