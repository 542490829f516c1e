"""The data sets: where they come from, and what the generated ones hold."""

import gzip
import hashlib
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tarfile
import zlib

import _flotilla as core
import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
import watched
from paddle import dataset
from paddle.dataset import _generate, _sets, common
from paddle.dataset.__main__ import main


@pytest.fixture(autouse=True)
def home(generated_home):
    return generated_home


# ---- where they come from


def test_a_notice_says_what_was_generated_and_why_once(home, capsys):
    dataset.uci_housing.train()
    dataset.uci_housing.test()
    assert capsys.readouterr().err == (
        f"paddle.dataset: uci_housing is a set that Flotilla generated, not the real one, "
        f"because {home}/sets/uci_housing does not hold it and FLT_DOWNLOAD forbids to download "
        f"it. It lies in {home}/.cache/flotilla/uci_housing.\n"
    )


def test_the_cache_comes_first(tmp_path, monkeypatch, capsys):
    """A file in the cache with the right checksum is taken as it is."""
    folder = tmp_path / "uci_housing"
    folder.mkdir()
    content = _table(506)
    (folder / "housing.data").write_bytes(content)
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    assert len(list(dataset.uci_housing.train()())) == 404
    assert f"{folder}/housing.data has the MD5 " in capsys.readouterr().err
    md5 = hashlib.md5(content).hexdigest()
    real = _sets.Set("uci_housing", (_sets.File(dataset.uci_housing.URL, md5),), _generate.housing)
    monkeypatch.setitem(_sets.SETS, "uci_housing", real)
    monkeypatch.setattr(_sets, "_found", {})
    path = common.download(dataset.uci_housing.URL, "uci_housing", md5)
    assert path == str(folder / "housing.data") and capsys.readouterr().err == ""


def test_real_rows_of_the_housing_table(monkeypatch, capsys):
    data = REAL_DATA
    if not data or not os.path.exists(os.path.join(data, "uci_housing", "housing.data")):
        pytest.skip("FLT_TEST_DATA does not point to the folder with real data")
    monkeypatch.setenv("FLT_TEST_DATA", data)
    features, price = next(dataset.uci_housing.train()())
    assert capsys.readouterr().err == "" and price == [24.0] and features.dtype == np.float64
    assert len(list(dataset.uci_housing.test()())) == 102
    # MNIST's training images are not there: digits are drawn for both halves.
    assert _sets.look("mnist", common.DATA_HOME) is None


REAL_DATA = os.environ.get("FLT_TEST_DATA")


def _table(rows):
    numbers = np.random.RandomState(0).uniform(0, 100, (rows, 14))
    return "\n".join(" ".join(f"{x:.4f}" for x in row) for row in numbers).encode()


def test_a_set_of_another_version_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = []

    def generate(folder):
        made.append(folder)
        _generate.write(folder, "x", b"1")

    for version in (1, 1, 2, 2):
        folder = _generate.ready("some", generate, version, ["x"])
    os.unlink(os.path.join(folder, "x"))
    _generate.ready("some", generate, 2, ["x"])
    assert len(made) == 3 and folder == str(tmp_path / ".cache" / "flotilla" / "some")


def test_list(home, capsys, monkeypatch):
    dataset.uci_housing.fetch()
    capsys.readouterr()
    incomplete = home / "sets" / "imdb"
    incomplete.mkdir(parents=True)
    (incomplete / "imdb%2FaclImdb_v1.tar.gz").write_bytes(b"x" * 300000)
    main(["--list"])
    rows = [line.split(None, 3) for line in capsys.readouterr().out.splitlines()]
    states = {row[0]: row[1] for row in rows}
    assert rows[0] == ["set", "state", "size", "folder"]
    assert states["uci_housing"] == "generated" and states["imdb"] == "incomplete"
    assert list(states) == ["set", *_sets.SETS]
    (incomplete / "imdb%2FaclImdb_v1.tar.gz").unlink()


def test_list_as_a_command(home):
    run = watched.run([sys.executable, "-m", "paddle.dataset", "--list"])
    assert run.returncode == 0 and run.stderr == ""
    assert f"{home}/.cache/paddle/dataset/flowers\n" in run.stdout


def test_generate_as_a_command(home, capsys):
    main(["--generate", "criteo"])
    assert capsys.readouterr().out == f"{home}/.cache/flotilla/criteo\n"
    main(["--fetch", "uci_housing"])
    assert capsys.readouterr().out == f"{home}/.cache/flotilla/uci_housing (generated)\n"


# ---- what they hold


def test_housing():
    rows = list(dataset.uci_housing.train()())
    assert len(rows) == 404
    features = np.array([features for features, _ in rows])
    assert features.shape == (404, 13) and np.abs(features).max() <= 1
    assert dataset.uci_housing.predict_reader()[0].shape == (13,)
    assert len(dataset.uci_housing.feature_names) == 13


def test_a_line_of_housing_that_is_no_number(tmp_path):
    path = tmp_path / "housing.data"
    path.write_text("1 2 3\n4 x 6\n")
    with pytest.raises(ValueError, match="housing.data: line 2: expected a number, found 'x'"):
        dataset.uci_housing.load_data(str(path), 3)
    path.write_text("1 2 3\n4")
    with pytest.raises(ValueError, match="expected rows of 3 numbers, found 4 numbers"):
        dataset.uci_housing.load_data(str(path), 3)


def test_cifar():
    train = list(dataset.cifar.train10()())
    pixels, label = train[0]
    assert len(train) == 5000 and pixels.shape == (3072,) and pixels.dtype == np.float32
    assert pixels.min() >= 0 and pixels.max() <= 1
    assert {label for _, label in train} == set(range(10))
    assert len(list(dataset.cifar.test10()())) == 1000
    assert {label for _, label in dataset.cifar.test100()()} == set(range(100))


def test_cifar_runs_nothing_from_a_file(tmp_path):

    class Bad:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": Bad(), b"labels": []}))
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "test_batch", "c/test_batch")
    with pytest.raises(ValueError, match="x.tar.gz: c/test_batch: not a batch of images: .*mkdir"):
        next(dataset.cifar.reader_creator(str(tmp_path / "x.tar.gz"), "test_batch")())
    assert not (tmp_path / "ran").exists()


def test_flowers():
    counts = {}
    raw = dict(mapper=lambda sample: sample, use_xmap=False)
    for name in ("train", "test", "valid"):
        samples = list(getattr(dataset.flowers, name)(**raw)())
        counts[name] = len(samples)
        assert {label for _, label in samples} == set(range(102))
        assert all(content.startswith(b"\xff\xd8") for content, _ in samples)
    assert counts == {"train": 816, "test": 204, "valid": 204}
    np.random.seed(1)
    pixels, label = next(dataset.flowers.train()())
    assert pixels.shape == (3 * 224 * 224,) and pixels.dtype == np.float32 and 0 <= label < 102
    assert -124 < pixels.min() < 0 < pixels.max() <= 255


def test_imdb():
    words = dataset.imdb.word_dict()
    assert 50 < len(words) < 2000 and words["<unk>"] == len(words) - 1 and b"the" in words
    train = list(dataset.imdb.train(words)())
    assert len(train) == 1200 and [label for _, label in train] == [0] * 600 + [1] * 600
    assert len(list(dataset.imdb.test(words)())) == 400
    assert all(0 <= number < len(words) for numbers, _ in train for number in numbers)


def test_imikolov():
    words = dataset.imikolov.build_dict()
    assert 50 < len(words) < 1000
    grams = list(dataset.imikolov.train(words, 5)())
    assert len(grams) > 20000 and all(len(gram) == 5 for gram in grams)
    source, target = next(dataset.imikolov.test(words, 0, dataset.imikolov.DataType.SEQ)())
    assert source[1:] == target[:-1]
    with pytest.raises(ValueError, match="data_type must be DataType.NGRAM or DataType.SEQ"):
        dataset.imikolov.train(words, 5, 3)


def test_movielens():
    train, test = list(dataset.movielens.train()()), list(dataset.movielens.test()())
    assert 0.08 < len(test) / (len(train) + len(test)) < 0.12
    user, gender, age, job, movie, kinds, title, rating = train[0]
    assert 1 <= user <= dataset.movielens.max_user_id() and gender in (0, 1) and 0 <= age < 7
    assert 0 <= job <= dataset.movielens.max_job_id() and movie <= dataset.movielens.max_movie_id()
    assert max(kinds) < len(dataset.movielens.movie_categories())
    assert max(title) < len(dataset.movielens.get_movie_title_dict())
    assert rating[0] in (-3, -1, 1, 3, 5)


def test_criteo():
    samples = list(dataset.criteo.train()())
    label, integers, categories = samples[0]
    assert len(samples) == 40000 and len(integers) == 13 and len(categories) == 26
    assert 0.2 < np.mean([label for label, _, _ in samples]) < 0.3
    assert len(dataset.criteo.train_files()) == 4 and len(list(dataset.criteo.test()())) == 10000
    report = core.check_data(dataset.criteo.test_files()[0])
    assert (report.kind, report.records, report.problem_count) == ("Criteo click log", 10000, 0)


def test_digits():
    """A cache that is there already is used: drawing 70,000 digits takes too long for a test."""
    folder = os.path.join(os.path.expanduser("~"), ".cache", "flotilla", "digits")
    assert _generate.folder_of("mnist") == folder
    assert not _sets.is_made("mnist")


def test_a_small_pair_of_idx_files(tmp_path):

    images, labels = tmp_path / "images.gz", tmp_path / "labels"
    pixels = (np.arange(3 * 784) % 256).astype(np.uint8)
    images.write_bytes(gzip.compress(struct.pack(">4I", 2051, 3, 28, 28) + pixels.tobytes()))
    labels.write_bytes(struct.pack(">2I", 2049, 3) + bytes([7, 0, 9]))
    found = list(dataset.mnist.reader_creator(images, labels, 2)())
    assert [label for _, label in found] == [7, 0, 9]
    expected = pixels.reshape(3, 784).astype(np.float32) / 255.0 * 2.0 - 1.0
    np.testing.assert_array_equal([image for image, _ in found], expected)
    labels.write_bytes(b"nonsense")
    with pytest.raises(Exception, match="labels"):
        next(dataset.mnist.reader_creator(images, labels, 2)())


# ---- training


def test_linear_regression_learns_from_readers(monkeypatch):
    """The program of the specification's fluid example, on real rows where they are."""
    if REAL_DATA:
        monkeypatch.setenv("FLT_TEST_DATA", REAL_DATA)
    random.seed(1)
    train = paddle.batch(
        paddle.reader.shuffle(dataset.uci_housing.train(), buf_size=500), batch_size=20
    )
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=fluid.layers.fc(input=x, size=1), label=y)
    loss = fluid.layers.mean(cost)
    fluid.optimizer.SGD(learning_rate=0.01).minimize(loss)
    executor = fluid.Executor(fluid.CPUPlace())
    executor.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(place=fluid.CPUPlace(), feed_list=[x, y])
    means = []
    for _ in range(30):
        losses = [
            executor.run(feed=feeder.feed(samples), fetch_list=[loss])[0] for samples in train()
        ]
        means.append(float(np.mean(losses)))
    assert means[0] > 150 and means[-1] < 60 and means[-1] < 0.4 * means[0]


# ---- several processes, damaged files


def test_processes_make_a_set_once(tmp_path):
    code = (
        "from paddle.dataset import _sets, common\n"
        "print(_sets.locate('uci_housing', common.DATA_HOME).folder)"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "FLT_DOWNLOAD": "0"}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for _ in range(3)
    ]
    for job in jobs:
        out, err = watched.communicate(job)
        assert out == f"{tmp_path}/.cache/flotilla/uci_housing\n"
        assert err.count("uci_housing is a set that Flotilla generated") == 1
    files = sorted(os.listdir(tmp_path / ".cache" / "flotilla" / "uci_housing"))
    assert files == [".lock", "about.txt", "housing.data"]


def test_a_damaged_matlab_file_is_refused(tmp_path):
    from paddle.dataset._mat import read_mat

    path = tmp_path / "x.mat"
    plain = _generate._mat({"labels": np.arange(50), "trnid": [3]})

    packed = zlib.compress(plain[128:])
    packed = plain[:128] + struct.pack("<II", 15, len(packed)) + packed
    path.write_bytes(packed)
    np.testing.assert_array_equal(read_mat(path)["labels"], [np.arange(50)])
    generator = np.random.RandomState(1)
    refused = 0
    for whole in (plain, packed):
        for _ in range(300):
            damaged = bytearray(whole[: generator.randint(0, len(whole) + 1)])
            for _ in range(generator.randint(0, 4)):
                if damaged:
                    damaged[generator.randint(0, len(damaged))] = generator.randint(0, 256)
            path.write_bytes(damaged)
            try:
                read_mat(path)
            except ValueError as error:
                assert str(error).startswith(f"{path}: ")
                refused += 1
    assert refused > 200


# ---- clothes, reviews, and sets that are only read


def test_fashion_mnist_is_drawn_where_it_is_not(home, capsys):
    train = paddle.vision.datasets.FashionMNIST(mode="train")
    test = paddle.vision.datasets.FashionMNIST(mode="test")
    notice = capsys.readouterr().err
    assert notice.count("\n") == 1 and notice.startswith(
        "paddle.dataset: fashion-mnist is a set that Flotilla generated, not the real one, because "
    )
    assert (len(train), len(test)) == (60000, 10000)
    image, label = train[0]
    assert image.shape == (1, 28, 28) and image.dtype == np.float32 and label.dtype == np.int64
    assert set(np.unique(test.labels)) == set(range(10))
    right = _softmax_regression(train.images, train.labels[:, 0], test.images, test.labels[:, 0])
    assert 0.7 < right < 0.95


def _softmax_regression(images, labels, others, answers, count=6000):
    """The share of test images that are known after one pass over some training images."""
    flat = images[:count].reshape(count, 784) / np.float32(255)
    weights = np.zeros((784, 10), np.float32)
    for first in range(0, count, 20):
        x, y = flat[first : first + 20], np.eye(10)[labels[first : first + 20]]
        scores = np.exp(x @ weights)
        weights -= (0.02 * x.T @ (scores / scores.sum(1, keepdims=True) - y)).astype(np.float32)
    return np.mean((others[:2000].reshape(2000, 784) @ weights).argmax(1) == answers[:2000])


def test_sentiment():
    words = dataset.sentiment.get_word_dict()
    assert [number for _, number in words] == list(range(len(words))) and len(words) > 50
    train, test = list(dataset.sentiment.train()), list(dataset.sentiment.test())
    assert (len(train), len(test)) == (1600, 400)
    assert [label for _, label in train[:4]] == [0, 1, 0, 1]
    assert all(0 <= number < len(words) for numbers, _ in test for number in numbers)


def test_sentiment_numbers_words_as_paddle_does(tmp_path, monkeypatch):
    """What 1.8.5 gave for these four reviews."""
    reviews = {
        "neg/cv000_1.txt": "bad plot a a movie .",
        "neg/cv001_2.txt": "awful b b b",
        "pos/cv000_3.txt": "good plot , a",
        "pos/cv001_9.txt": "fine c movie",
    }
    path = tmp_path / "reviews.zip"
    members = ((f"movie_reviews/{name}", text.encode()) for name, text in reviews.items())
    path.write_bytes(_generate._zip(members))
    monkeypatch.setattr(common, "download", lambda *_: str(path))
    words = [word for word, _ in dataset.sentiment.get_word_dict()]
    assert words == ["a", "b", "plot", "movie", "bad", ".", "awful", "good", ",", "fine", "c"]
    expected = [([4, 2, 0, 0, 3, 5], 0), ([7, 2, 8, 0], 1), ([6, 1, 1, 1], 0), ([9, 10, 3], 1)]
    assert dataset.sentiment.load_sentiment_data() == expected


def test_mq2007(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="train.txt is missing; download http.*MQ2007.rar"):
        next(dataset.mq2007.train())
    folder = tmp_path / "MQ2007" / "MQ2007" / "Fold1"
    folder.mkdir(parents=True)
    relevances = {10: [0, 1, 0, 2], 11: [2, 1, 0], 12: [0, 0], 13: [2]}
    lines = [
        f"{relevance} qid:{query} 1:{query}.5 2:{place}.25 #docid = GX{place}"
        for query, several in relevances.items()
        for place, relevance in enumerate(several)
    ]
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    pairs = list(dataset.mq2007.train())
    assert len(pairs) == 8 and all(label == [1] for label, _, _ in pairs)
    assert [(better[1], worse[1]) for _, better, worse in pairs[:2]] == [(3.25, 1.25), (3.25, 0.25)]
    scores = [relevance.tolist() for relevance, _ in dataset.mq2007.train(format="listwise")]
    assert scores == [[[2], [1], [0], [0]], [[2], [1], [0]], [[2]]]  # 12 has nothing relevant
    points = list(dataset.mq2007.train(format="pointwise"))
    assert len(points) == 8 and points[0][1].shape == (46,) and points[0][1][2] == -1
    assert [row[0] for row in dataset.mq2007.train(format="plain_txt")] == [10] * 4 + [11] * 3 + [
        13
    ]
    (folder / "train.txt").write_text("1 qid:x 1:2\n")
    with pytest.raises(ValueError, match="train.txt: line 1: expected `relevance qid:n"):
        next(dataset.mq2007.train())


def test_voc2012(tmp_path):
    """An image of two pixels, of the classes 1 and 255; a palette's colours name classes."""

    def png(pixels, kind, extra=b""):
        def chunk(name, content):
            body = name + content
            return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

        header = struct.pack(">IIBBBBB", 2, 1, 8, kind, 0, 0, 0)
        return b"".join(
            [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), extra and chunk(b"PLTE", extra)]
            + [chunk(b"IDAT", zlib.compress(b"\0" + pixels)), chunk(b"IEND", b"")]
        )

    palette = bytearray(768)
    palette[3:6], palette[765:768] = (128, 0, 0), (224, 224, 192)
    members = [
        (dataset.voc2012.SET_FILE.format("val"), b"one\n"),
        (dataset.voc2012.LABEL_FILE.format("one"), png(b"\x01\xff", 3, bytes(palette))),
        (dataset.voc2012.DATA_FILE.format("one"), png(bytes(range(6)), 2)),
    ]
    path = tmp_path / "voc.tar"
    path.write_bytes(_generate._tar(members))
    ((image, classes),) = dataset.voc2012.reader_creator(str(path), "val")()
    np.testing.assert_array_equal(image, [[[0, 1, 2], [3, 4, 5]]])
    np.testing.assert_array_equal(classes, [[1, 255]])


@pytest.mark.parametrize(
    "read, path",
    [
        (lambda: dataset.voc2012.train(), "voc2012/VOCtrainval_11-May-2012.tar"),
        (lambda: dataset.wmt14.train(100), "wmt14/wmt14.tgz"),
        (lambda: dataset.wmt16.train(100, 100), "wmt16/wmt16.tar.gz"),
        (lambda: dataset.conll05.test(), "conll05st/conll05st-tests.tar.gz"),
    ],
)
def test_sets_that_are_not_generated_say_what_to_put_where(home, read, path):
    with pytest.raises(RuntimeError) as caught:
        read()
    assert str(caught.value).startswith(
        f"{home}/sets/{path} is missing, and FLT_DOWNLOAD forbids to fetch it from http"
    )
    assert "; put the file with the MD5 " in str(caught.value)


def test_fetching_all_names_the_first_set_that_is_not_there(home, monkeypatch):
    small = {name: _sets.SETS[name] for name in ("uci_housing", "voc2012")}
    monkeypatch.setattr(_sets, "SETS", small)
    with pytest.raises(
        RuntimeError, match="^voc2012 is missing, because .*; put VOCtrainval.* into"
    ):
        common.fetch_all()


# ---- archives that a user names


def test_an_archive_that_is_a_pipe_is_refused(tmp_path):
    pipe = str(tmp_path / "pipe")  # nobody writes to it
    os.mkfifo(pipe)
    for read in [
        lambda: list(dataset.imdb.tokenize(re.compile("x"), pipe)),
        lambda: dataset.imikolov.build_dict(path=pipe),
        lambda: list(dataset.cifar.reader_creator(pipe, "data_batch")()),
        lambda: dataset.image.batch_images_from_tar(pipe, "train", {}),
    ]:
        with pytest.raises(ValueError, match="pipe is a named pipe, but a file is expected"):
            read()
