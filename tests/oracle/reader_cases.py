"""What readers and data sets yield, from small archives that are made here.

The same code runs in Paddle 1.8.5, in 2.6.2 and in Flotilla; tools/oracle/record_readers.py records
the answers of the first two.
"""

import base64
import gzip
import hashlib
import io
import os
import pickle
import random
import struct
import tarfile
import zipfile

import numpy as np
import paddle

# 272 x 256 pixels, so that nothing is resized: releases of OpenCV round differently there.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqM"
    "yP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4"
    "+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAEAARADASIAAhEBAxEB/8QAGAABAQEBAQAAAAAAAAAAAAAAAQACAwT/xAAY"
    "EAEAAwEAAAAAAAAAAAAAAAAAE2KhYf/EABkBAQEBAQEBAAAAAAAAAAAAAAABAwQCBf/EACERAQABAwQDAQEAAAAAAAAA"
    "AAAUAQMRAhJRYQQTQSEy/9oADAMBAAIRAxEAPwDqgnI+WSEKUEo0ghSglCQlCghWkEoUEDSCVSggaQSqUEo0ggKCVWkE"
    "BQSjzEJzMyglUkJQoICQlUoICQlCglUkICglUkICglCQhSglCQlCghSQlHmQTmZkhKFBCkhKFBKEhClBKEhClBKEhAUE"
    "qkhKFBASEqlBASEqlBKPMQnMzKCUJCAoJVJCApzk4pOaN41zh0LlLzVLzVysa5w6pyl5ql5pmhGucOpcZa6Za6uaEe5w"
    "6pylrqmrpmhHucOpcZq6pq6uaLHucOycZq6pq6ZoR7nDsXCauuy0rSrxrt6tH9UKCenkkICglCQhXmQTnZEskUoJQlkq"
    "pQQOSSeX2kkgSSBJIEkgSSBJIE9TyvS00OTyvhLJe3GUEqkhKFBA8yBc7MoIUoFQoICgVVzSTw+wkkCSQJJAkkCSQJJA"
    "noed6Gmhy+T8KCaOQoFQoIUoFR5kE52ZQIFBKpQIFBKMpJm+ukkCSQJJAkkCSQJJAndwdmlty+T8KBauYoJQoEUoJR5k"
    "C5mZQShQKhQQpQKgRTztdcnoIk2EnplNI2LI6ZTRXYSOmE2jYSOmE2T1kjpzTol9ZI6c3UF606cM7lzfj8KCe2ZQIFBK"
    "FAqrzIJzMiglVpBAUEqtIICglGkEqlBA0glCghWkEoUEqtIICgVCghSglGkEDzIJzsyQlUoICQlCghSQlCggJCVSglCQ"
    "hSglCQgKCVSQlCggJCVSggeYhOdmUEBISqUEoSEBQSqSEBQSqSEBQShISqUEBIShQQpIShQQpISjzIJzsyQgKCUJCFKC"
    "UJCVSggJCUKCFJCUKCAkJVKCUJCFKCUJCAoJVeYslzMiglUkJQoIUlkqFBASEqlBKEhAUEqkhAUEqkhAUEoSEqlBASEo"
    "8yCczMoFVKCAoFQoJVKBAoJQoEUoJQoEUoJQoFQoIUoFQoICgVUoJR5kC5mZQShQIpQShQIFBKpQKhQQpQKhQQFAqpQQ"
    "FAqFBKpQIFBKpQIPMgnOzKBAoJQoFVKCAoFVKCAoFQoJVKBAoJQoEUoJQoEUoJQoFQoIV//Z"
)


def plain(value):
    """A sample as JSON: arrays become their type, shape, a hash and the first numbers."""
    if isinstance(value, np.ndarray):
        return [
            str(value.dtype),
            list(value.shape),
            hashlib.sha1(np.ascontiguousarray(value).tobytes()).hexdigest(),
            [float(x) for x in value.ravel()[:3]],
        ]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value


def digest(samples):
    """Many samples: how many, the first, and a hash of all."""
    samples = list(samples)
    everything = repr([plain(sample) for sample in samples]).encode()
    return [len(samples), plain(samples[0]), hashlib.sha1(everything).hexdigest()]


def count(n):
    return lambda: iter(range(n))


# ---- readers


def readers():
    r = paddle.reader
    pairs = lambda: iter([(1, 2), (3, 4)])  # noqa: E731
    found = {
        "batch": list(paddle.batch(count(7), 3)()),
        "batch drop_last": list(paddle.batch(count(7), 3, drop_last=True)()),
        "chain": list(r.chain(count(2), count(3))()),
        "compose": list(r.compose(pairs, count(2))()),
        "compose unaligned": list(r.compose(pairs, count(5), check_alignment=False)()),
        "map_readers": list(r.map_readers(lambda a, b: a + b, count(4), count(3))()),
        "firstn": list(r.firstn(count(9), 4)()),
        "cache": list(r.cache(count(3))()),
        "buffered": list(r.buffered(count(20), 3)()),
        "xmap in order": list(r.xmap_readers(lambda x: x * x, count(20), 3, 4, True)()),
        "xmap": sorted(r.xmap_readers(lambda x: x * x, count(20), 3, 4)()),
        "multiprocess": sorted(r.multiprocess_reader([count(3), count(5)], use_pipe=False)()),
    }
    for size in (1, 4, 10, 100):
        random.seed(size)
        shuffled = r.shuffle(count(25), size)
        found[f"shuffle {size}"] = [list(shuffled()), list(shuffled())]
    random.seed(5)
    found["shuffle and batch"] = list(paddle.batch(r.shuffle(count(23), 10), 4)())
    try:
        list(r.compose(pairs, count(5))())
    except r.ComposeNotAligned as error:
        found["not aligned"] = isinstance(error, ValueError)
    return found


# ---- archives


def tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def cifar(folder):
    from paddle.dataset import cifar

    def batch(first, labels):
        data = (np.arange(3 * 3072).reshape(3, 3072) * 7 + first).astype(np.uint8)
        return pickle.dumps({b"data": data, labels: [first, 1, 2]}, protocol=2)

    path = os.path.join(folder, "cifar.tar.gz")
    members = [(f"c/data_batch_{i}", batch(i, b"labels")) for i in (1, 2)]
    members += [("c/test_batch", batch(9, b"labels")), ("c/train", batch(30, b"fine_labels"))]
    tar(path, members)
    found = {
        name: plain(list(cifar.reader_creator(path, name)()))
        for name in ("data_batch", "test_batch", "train")
    }
    cycle = cifar.reader_creator(path, "data_batch", cycle=True)()
    found["cycle"] = [next(cycle)[1] for _ in range(14)]
    return found


def replace_download(module, path):
    """Let a set read the archive at ``path``."""
    module = getattr(module, "common", module)
    module.download = lambda url, name, md5, save_name=None: path


def imdb(folder):
    from paddle.dataset import imdb

    path = os.path.join(folder, "imdb.tgz")
    texts = {
        "train/pos/0_9.txt": b"A great film, great fun!\n",
        "train/pos/1_8.txt": b"Great <br /> cast; it's fun.",
        "train/neg/0_1.txt": b"A dull film.\r\n",
        "test/pos/0_9.txt": b"Fun",
        "test/neg/0_2.txt": b"dull dull DULL",
        "train/unsup/0_0.txt": b"Ignored",
    }
    tar(path, [("aclImdb/" + name, text) for name, text in texts.items()])
    replace_download(paddle.dataset, path)
    import re

    words = imdb.build_dict(re.compile(r"aclImdb/train/((pos)|(neg))/.*\.txt$"), 0)
    return {
        "words": plain(sorted(words.items(), key=lambda item: item[1])),
        "cut": plain(
            sorted(imdb.build_dict(re.compile(r"aclImdb/.*\.txt$"), 2).items(), key=lambda i: i[1])
        ),
        "train": plain(list(imdb.train(words)())),
        "test": plain(list(imdb.test(words)())),
    }


def imikolov(folder):
    from paddle.dataset import imikolov

    path = os.path.join(folder, "ptb.tgz")
    lines = b" the bank said N \n the <unk> fell \n bank \n the the the \n"
    parts = {"train": lines * 3, "valid": b" the fund \n bank rose N \n", "test": b" never \n"}
    tar(
        path,
        [(f"./simple-examples/data/ptb.{name}.txt", text) for name, text in parts.items()],
    )
    replace_download(paddle.dataset, path)
    words = imikolov.build_dict(min_word_freq=2)
    kinds = imikolov.DataType
    return {
        "words": plain(sorted(words.items(), key=lambda item: item[1])),
        "train 3": plain(list(imikolov.train(words, 3)())),
        "test 5": plain(list(imikolov.test(words, 5)())),
        "sequences": plain(list(imikolov.train(words, 0, kinds.SEQ)())),
        "short sequences": plain(list(imikolov.test(words, 3, kinds.SEQ)())),
    }


def movielens(folder):
    from paddle.dataset import movielens

    path = os.path.join(folder, "ml.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
        archive.writestr(
            "ml-1m/movies.dat",
            "1::Toy Story (1995)::Animation|Comedy\n2::Caf\u00e9 au Lait (1993)::Comedy\n".encode(
                "latin-1"
            ),
        )
        rows = [f"{i % 2 + 1}::{i % 3 % 2 + 1}::{i % 5 + 1}::97830{i}\n" for i in range(60)]
        archive.writestr("ml-1m/ratings.dat", "".join(rows))
    replace_download(paddle.dataset, path)
    words = {number: word for word, number in movielens.get_movie_title_dict().items()}
    kinds = {number: kind for kind, number in movielens.movie_categories().items()}

    def named(sample):
        sample = list(sample)
        sample[5] = [kinds[number] for number in sample[5]]
        sample[6] = [words[number] for number in sample[6]]
        return sample

    return {
        "train": [named(sample) for sample in movielens.train()()],
        "test": [named(sample) for sample in movielens.test()()],
        "most": [movielens.max_movie_id(), movielens.max_user_id(), movielens.max_job_id()],
        "words": sorted(words.values()),
        "kinds": sorted(kinds.values()),
        "user": str(movielens.user_info()[2]),
        "movie": str(movielens.movie_info()[1]),
        "ages": movielens.age_table,
    }


def mat(path, arrays):
    """A MATLAB file of version 5 with rows of int32."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    with open(path, "wb") as file:
        file.write(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 256, b"IM"))
        for name, values in arrays.items():
            body = element(6, struct.pack("<II", 12, 0))
            body += element(5, struct.pack("<ii", 1, len(values)))
            body += element(1, name.encode()) + element(5, struct.pack(f"<{len(values)}i", *values))
            file.write(element(14, body))


def flowers(folder):
    from paddle.dataset import flowers

    paths = [os.path.join(folder, name) for name in ("102.tgz", "labels.mat", "setid.mat")]
    tar(paths[0], [(f"jpg/image_{i:05}.jpg", JPEG) for i in (1, 2, 3)])
    mat(paths[1], {"labels": [7, 1, 102]})
    mat(paths[2], {"trnid": [3], "valid": [2], "tstid": [1, 3]})

    def read(part, mapper):
        np.random.seed(3)
        return plain(list(flowers.reader_creator(*paths, part, mapper, use_xmap=False)()))

    return {
        "test": read(flowers.TEST_FLAG, flowers.test_mapper),
        "valid": read(flowers.VALID_FLAG, flowers.test_mapper),
        "train": read(flowers.TRAIN_FLAG, flowers.train_mapper),
        "raw": read(flowers.TRAIN_FLAG, lambda sample: (len(sample[0]), sample[1])),
    }


def conll05(folder):
    from paddle.dataset import conll05

    words = "The\ncat\nsat\ndown\n.\n\nDogs\nbark\nand\nrun\n\n"
    props = (
        "-    (A0*\n-    *)\nsit  (V*)\n-    (AM-DIR*)\n-    *\n\n"
        "-    (A0*)  (A0*)\nbark (V*)   *\n-    *      *\nrun  *      (V*)\n\n"
    )
    path = os.path.join(folder, "conll.tar.gz")
    tar(path, [("w.gz", gzip.compress(words.encode())), ("p.gz", gzip.compress(props.encode()))])
    labels = os.path.join(folder, "labels")
    with open(labels, "w") as file:
        file.write("B-A0\nI-A0\nB-V\nB-AM-DIR\nO\n")
    names = os.path.join(folder, "words")
    with open(names, "w") as file:
        file.write("<unk>\nbos\neos\nThe\ncat\nsat\ndown\nDogs\nbark\n")
    words = conll05.load_dict(names)
    numbers = conll05.load_label_dict(labels)
    by_number = {number: label for label, number in numbers.items()}
    corpus = conll05.corpus_reader(path, "w.gz", "p.gz")
    samples = [
        list(sample) for sample in conll05.reader_creator(corpus, words, {"sit": 3}, numbers)()
    ]
    for sample in samples:
        sample[8] = [by_number[number] for number in sample[8]]
    return {"corpus": plain(list(corpus())), "samples": samples, "labels": sorted(numbers)}


def wmt14(folder):
    from paddle.dataset import wmt14

    path = os.path.join(folder, "wmt14.tgz")
    lines = "a cat\tun chat\na dog ran\tun chien\nbroken\n%s\tx\n" % ("a " * 79)
    tar(
        path,
        [
            ("w/src.dict", b"<s>\n<e>\n<unk>\na\ncat\ndog\n"),
            ("w/trg.dict", b"<s>\n<e>\n<unk>\nun\nchien\nchat\n"),
            ("w/train/train", lines.encode()),
            ("w/test/test", b"dog\tchien\n"),
        ],
    )
    replace_download(paddle.dataset, path)
    return {
        "train": plain(list(wmt14.train(5)())),
        "test": plain(list(wmt14.test(6)())),
        "words": [sorted(one.items()) for one in wmt14.get_dict(5)],
        "numbers": [sorted(one.items()) for one in wmt14.get_dict(5, reverse=False)],
    }


def wmt16(folder):
    from paddle.dataset import wmt16

    path = os.path.join(folder, "wmt16.tar.gz")
    lines = b"a man runs\tein Mann rennt\na dog\tein Hund\nbroken\n"
    parts = ("wmt16/train", lines), ("wmt16/test", b"a dog runs\tein Hund rennt\n")
    tar(path, [*parts, ("wmt16/val", b"man\tMann\n")])
    paddle.dataset.common.DATA_HOME = folder
    os.makedirs(os.path.join(folder, "wmt16"), exist_ok=True)
    replace_download(paddle.dataset, path)
    return {
        "train": plain(list(wmt16.train(5, 6)())),
        "test": plain(list(wmt16.test(6, 5, src_lang="de")())),
        "validation": plain(list(wmt16.validation(7, 7)())),
        "words": sorted(wmt16.get_dict("en", 5, reverse=True).items()),
        "numbers": sorted(wmt16.get_dict("de", 6).items()),
    }


# ---- real files


def real(data):
    """What the sets make of the files in $FLT_TEST_DATA."""
    from paddle.dataset import mnist, uci_housing

    images, labels = (
        os.path.join(data, "mnist", f"t10k-{kind}-ubyte.gz")
        for kind in ("images-idx3", "labels-idx1")
    )
    reader = mnist.reader_creator(images, labels, 100)
    replace_download(paddle.dataset, os.path.join(data, "uci_housing", "housing.data"))
    uci_housing.UCI_TRAIN_DATA = uci_housing.UCI_TEST_DATA = None
    return {
        "mnist": digest(reader()),
        "uci_housing train": digest(uci_housing.train()()),
        "uci_housing test": digest(uci_housing.test()()),
        "uci_housing predict": plain(uci_housing.predict_reader()),
    }


# Each takes a folder to put files into.
SETS = [cifar, imdb, imikolov, movielens, flowers, conll05, wmt14, wmt16]
