"""Sets made on this machine, in the files and formats of the real ones.

The core makes what is in them; here it is packed. They are kept under ``~/.cache/flotilla``; a file
about.txt, written last, vouches for the files beside it.
"""

import concurrent.futures
import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile

import _flotilla as core
import numpy as np

from ._transfer import only_one

_SEED = 1


def folder_of(name):
    # C++ programs draw digits too, and keep them there.
    kept = "digits" if name == "mnist" else name
    return os.path.join(os.path.expanduser("~"), ".cache", "flotilla", kept)


def about(name, version):
    return f"A set that Flotilla generated in place of {name}; version {version}.\n"


def is_ready(name, version, files):
    folder = folder_of(name)
    try:
        with open(os.path.join(folder, "about.txt")) as file:
            vouched = file.read() == about(name, version) or name == "mnist"
    except OSError:
        return False
    return vouched and all(os.path.exists(os.path.join(folder, file)) for file in files)


def ready(name, generate, version, files):
    """The folder of a generated set, made if it is missing or of another version."""
    folder = folder_of(name)
    if name == "mnist":  # the core looks whether they are there, and vouches for them
        generate(folder)
    elif not is_ready(name, version, files):
        with only_one(folder):
            if not is_ready(name, version, files):
                generate(folder)
                write(folder, "about.txt", about(name, version).encode())
    return folder


def write(folder, name, content):
    """Write a file that others see as it was or as it will be."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


# ---- the sets


def digits(folder):
    core.keep_digits(folder)


def garments(folder):
    core.write_garments(folder)


def housing(folder):
    write(folder, "housing.data", core.make_housing(_SEED).encode())


def criteo(folder):
    core.write_clicks(folder)


_FLOWERS = 12  # of each class: 8 to train, 2 to test, 2 to validate


def flowers(folder):
    """Image n + 1 is of class n % 102. Paddle trains with ``tstid`` and tests with ``trnid``."""
    classes = 102
    count = _FLOWERS * classes
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        images = threads.map(lambda n: core.flower_jpeg(_SEED, n, n % classes), range(count))
        members = ((f"jpg/image_{n + 1:05}.jpg", image) for n, image in enumerate(images))
        write(folder, "102flowers.tgz", _tar(members))
    labels = np.arange(count) % classes + 1
    write(folder, "imagelabels.mat", _mat({"labels": labels}))
    numbers = np.arange(count) + 1
    sets = {
        "tstid": numbers[: 8 * classes],
        "trnid": numbers[8 * classes : 10 * classes],
        "valid": numbers[10 * classes :],
    }
    write(folder, "setid.mat", _mat(sets))


def cifar10(folder):
    def batch(pixels, labels):
        return {b"data": pixels, b"labels": [int(label) // 10 for label in labels]}

    pixels, labels = core.make_shapes(_SEED, "train", 5000)
    parts = [
        (f"cifar-10-batches-py/data_batch_{i + 1}", batch(pixels[i::5], labels[i::5]))
        for i in range(5)
    ]
    parts.append(("cifar-10-batches-py/test_batch", batch(*core.make_shapes(_SEED, "test", 1000))))
    members = ((name, pickle.dumps(part, protocol=2)) for name, part in parts)
    write(folder, "cifar-10-python.tar.gz", _tar(members))


def cifar100(folder):
    def batch(pixels, labels):
        return {
            b"data": pixels,
            b"fine_labels": [int(label) for label in labels],
            b"coarse_labels": [int(label) // 5 for label in labels],
        }

    members = (
        (f"cifar-100-python/{split}", pickle.dumps(batch(*made), protocol=2))
        for split, made in [
            ("train", core.make_shapes(_SEED, "train", 5000)),
            ("test", core.make_shapes(_SEED, "test", 1000)),
        ]
    )
    write(folder, "cifar-100-python.tar.gz", _tar(members))


def imdb(folder):
    members = (
        (f"aclImdb/{split}/{kind}/{i}_{stars}.txt", _review(split, i, kind == "pos"))
        for split, count in [("train", 600), ("test", 200)]
        for kind, stars in [("pos", 9), ("neg", 2)]
        for i in range(count)
    )
    write(folder, "imdb%2FaclImdb_v1.tar.gz", _tar(members))


def _review(split, index, positive):
    return core.make_review(_SEED, split, index, positive).encode()


def sentiment(folder):
    members = (
        (f"movie_reviews/{kind}/cv{i:03}_{i}.txt", _review("train", i, kind == "pos"))
        for kind in ("neg", "pos")
        for i in range(1000)
    )
    write(folder, "movie_reviews%2Fmovie_reviews.zip", _zip(members))


def imikolov(folder):
    parts = [("train", "train", 0, 6000), ("valid", "test", 0, 500), ("test", "test", 500, 500)]
    members = (
        (f"./simple-examples/data/ptb.{name}.txt", core.make_news(_SEED, *rest).encode())
        for name, *rest in parts
    )
    write(folder, "imikolov%2Fsimple-examples.tgz", _tar(members))


def movielens(folder):
    members = (
        (f"ml-1m/{name}.dat", text.encode("latin-1"))
        for name, text in zip(("users", "movies", "ratings"), core.make_ratings())
    )
    write(folder, "movielens%2Fml-1m.zip", _zip(members))


# ---- containers, without dates and names of users


def _tar(members):
    packed = io.BytesIO()
    stream = gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0)
    with stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _zip(members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _mat(arrays):
    """A MATLAB file of version 5 with rows of whole numbers; see _mat.py for its grammar."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    parts = [
        b"MATLAB 5.0 MAT-file, written by Flotilla".ljust(124),
        struct.pack("<H2s", 256, b"IM"),
    ]
    for name, values in arrays.items():
        values = np.asarray(values, "<i4")
        body = (
            element(6, struct.pack("<II", 12, 0))  # the class of int32
            + element(5, struct.pack("<ii", 1, len(values)))
            + element(1, name.encode())
            + element(5, values.tobytes())
        )
        parts.append(element(14, body))
    return b"".join(parts)
