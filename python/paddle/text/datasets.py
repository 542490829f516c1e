"""The sets of ``paddle.dataset`` by number."""

import numpy as np
from paddle.dataset import imdb, imikolov, movielens, uci_housing
from paddle.io.dataset import Dataset
from paddle.vision.datasets._common import check_mode, fetched

__all__ = ["Imdb", "Imikolov", "Movielens", "UCIHousing"]


class _InMemory(Dataset):
    """Samples in a list; each is a tuple of arrays."""

    def __init__(self, module, name, data_file, mode, download):
        self.mode = check_mode(mode, ("train", "test"))
        self.data_file = data_file or fetched(module.URL, name, module.MD5, download, "data_file")
        self.data = [self._sample(one) for one in self._samples()]

    def __getitem__(self, idx):
        return self.data[idx]

    def __len__(self):
        return len(self.data)


class UCIHousing(_InMemory):
    """Districts of Boston: 13 scaled features and the price, float32."""

    def __init__(self, data_file=None, mode="train", download=True):
        super().__init__(uci_housing, "uci_housing", data_file, mode, download)
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
        super().__init__(imdb, "imdb", data_file, mode, download)

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
        super().__init__(imikolov, "imikolov", data_file, mode, download)

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
        super().__init__(movielens, "movielens", data_file, mode, download)

    def _samples(self):
        is_test = self.mode == "test"
        words = (is_test, self.rand_seed, self.test_ratio, self.data_file)
        return movielens._reader_creator(*words)()

    def _sample(self, sample):
        return tuple(np.array(one if isinstance(one, list) else [one]) for one in sample)
