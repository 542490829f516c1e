"""``paddle.text``: what 2.6.2 gave for the generated sets, read by it from the same files."""

import hashlib

import numpy as np
import paddle
import pytest
from paddle import text


@pytest.fixture(autouse=True)
def home(generated_home):
    return generated_home


def digest(sample):
    fields = [(str(one.dtype), one.shape, one.tolist()) for one in sample]
    return hashlib.md5(repr(fields).encode()).hexdigest()[:10]


RECORDED = [
    (text.UCIHousing, {"mode": "train"}, 404, "f6065a73e8 a767f6d2c0 8c6e3e91fb 7a9afdf228"),
    (
        text.datasets.UCIHousing,
        {"mode": "test"},
        102,
        "df75f5fb75 d6bfeb125b 19cd158fe1 b49b77cd78",
    ),
    (
        text.Imdb,
        {"mode": "train", "cutoff": 50},
        1200,
        "446cd34d92 ae38d4ac17 7219b726c4 78b8b1ee2d",
    ),
    (text.Imdb, {"mode": "test", "cutoff": 50}, 400, "f9b8a20b9f 14000b8033 c152f1898a 4dc171787a"),
    (
        text.Imikolov,
        {"data_type": "NGRAM", "window_size": 3, "mode": "train", "min_word_freq": 20},
        62195,
        "4b4b752e3b 66efd4ad15 35919c2ca4 e8720a85a3",
    ),
    (
        text.Imikolov,
        {"data_type": "NGRAM", "window_size": 3, "mode": "test", "min_word_freq": 20},
        5111,
        "1f688706ca 2d24b5b808 93895ddc00 60d8efa481",
    ),
    (
        text.Imikolov,
        {"data_type": "SEQ", "mode": "test", "min_word_freq": 20},
        500,
        "76cf1bab3c 4e797712a5 e561de1354 e0625aa49f",
    ),
    (text.WMT14, {"dict_size": 300}, 4000, "317da43757 3f4bc9267d 02cf8412f1 0be4fce391"),
    (
        text.WMT14,
        {"mode": "gen", "dict_size": 300},
        400,
        "926a77f9f6 0e6f44600c 3e4d1f693e 6a74cfa3d4",
    ),
]


@pytest.mark.parametrize("kind, words, count, digests", RECORDED)
def test_samples_are_those_of_paddle(kind, words, count, digests):
    found = kind(**words)
    assert len(found) == count
    assert " ".join(digest(found[i]) for i in (0, 1, count // 2, count - 1)) == digests


def test_movielens():
    """Paddle numbers kinds and words by chance, so only the rest is compared with it."""
    found = [text.Movielens(mode=mode, test_ratio=0.2, rand_seed=3) for mode in ("train", "test")]
    assert [len(one) for one in found] == [22580, 5670]
    user, gender, age, job, movie, kinds, title, rating = found[0][0]
    assert [int(one[0]) for one in (user, gender, age, job, movie)] == [1, 0, 4, 8, 324]
    assert kinds.shape == (1,) and title.shape == (2,) and rating.tolist() == [3.0]


def test_a_loader_takes_them():
    (features, price), *_ = paddle.io.DataLoader(text.UCIHousing(mode="test"), batch_size=20)
    assert features.shape() == [20, 13] and price.shape() == [20, 1]
    assert np.array(features).dtype == np.float32


def test_wrong_words_are_refused():
    with pytest.raises(AssertionError, match="mode should be 'train' or 'test', but got x"):
        text.UCIHousing(mode="x")
    with pytest.raises(AssertionError, match="data_type should be 'NGRAM' or 'SEQ', but got Q"):
        text.Imikolov(data_type="Q")
    with pytest.raises(AssertionError, match="NGRAM needs a window_size, but got -1"):
        text.Imikolov()
    with pytest.raises(AssertionError, match="data_file is not set and downloading automatically"):
        text.Imdb(download=False)


def test_sentences_with_roles():
    found = text.Conll05st()
    words, verbs, roles = found.get_dict()
    assert len(found) == 2000 and len(found[0]) == 9 and found[0][0].dtype == "int64"
    assert len({one.shape for one in found[0]}) == 1
    assert found.get_embedding() == paddle.dataset.conll05.get_embedding()
    samples = list(paddle.dataset.conll05.test()())
    assert [one.tolist() for one in found[7]] == list(samples[7]) and roles["O"] == 8


@pytest.mark.parametrize("mode, count", [("train", 4000), ("test", 400), ("gen", 400)])
def test_translations_of_news(mode, count):
    found = text.WMT14(mode=mode, dict_size=500)
    assert len(found) == count
    samples = list(getattr(paddle.dataset.wmt14, mode)(500)())
    assert [one.tolist() for one in found[3]] == list(samples[3])
    source, _ = found.get_dict(reverse=True)
    assert [source[n] for n in range(3)] == ["<s>", "<e>", "<unk>"]
    assert found.get_dict()[0]["<e>"] == 1


def test_translations_of_descriptions():
    found = text.WMT16(mode="val", src_dict_size=400, trg_dict_size=300, lang="de")
    samples = list(paddle.dataset.wmt16.validation(400, 300, "de")())
    assert len(found) == 400 and [one.tolist() for one in found[3]] == list(samples[3])
    assert found.get_dict("de") == paddle.dataset.wmt16.get_dict("de", 400)
    assert len(found.get_dict("en", reverse=True)) <= 300
    with pytest.raises(AssertionError, match="trg_dict_size should be set as positive number"):
        text.WMT16(src_dict_size=3)
    with pytest.raises(AssertionError, match="'train' or 'test' or 'gen'"):
        text.WMT14(mode="val", dict_size=10)
