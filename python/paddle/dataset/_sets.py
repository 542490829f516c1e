"""The data sets by name: their files, and where they are found on this machine.

A set is looked for whole: in the cache (``common.DATA_HOME``), under $FLT_TEST_DATA, on the
network; otherwise it is generated (``_generate``), and one notice says so. Which it is, is decided
once for each set and process.
"""

import dataclasses
import os
import sys

from . import _generate, _sentences
from ._transfer import DownloadError, fetch, md5_of


@dataclasses.dataclass(frozen=True)
class File:
    url: str
    md5: str

    @property
    def name(self):
        return self.url.split("/")[-1]


@dataclasses.dataclass(frozen=True)
class Set:
    module: str  # also the folder in the cache
    files: tuple
    generate: object  # (folder) -> None; writes files of the same names. None: there is none
    version: int = 1  # grows when the generated set changes
    only_made: tuple = ()  # names of generated files where there are none to download

    @property
    def names(self):
        return [file.name for file in self.files] or list(self.only_made)


@dataclasses.dataclass(frozen=True)
class Found:
    folder: str
    origin: str  # "cached", "test data" or "generated"


_BOS = "https://dataset.bj.bcebos.com/"
_MODELS = "http://paddlemodels.bj.bcebos.com/"


def _idx_files(folder, *md5s):
    """MNIST's four files, also those of sets in its form."""
    names = [f"{half}-{part}-ubyte.gz" for half in ("train", "t10k") for part in _PARTS]
    return tuple(File(f"{_BOS}{folder}/{name}", md5) for name, md5 in zip(names, md5s))


_PARTS = ("images-idx3", "labels-idx1")

SETS = {
    "mnist": Set(
        "mnist",
        _idx_files(
            "mnist",
            *("f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432"),
            *("9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        _generate.digits,
    ),
    "fashion-mnist": Set(
        "fashion-mnist",
        _idx_files(
            "fashion_mnist",
            *("8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe"),
            *("bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310"),
        ),
        _generate.garments,
    ),
    "uci_housing": Set(
        "uci_housing",
        (File(_MODELS + "uci_housing/housing.data", "d4accdce7a25600298819f8e28e8d593"),),
        _generate.housing,
    ),
    "flowers": Set(
        "flowers",
        (
            File(_MODELS + "flowers/102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
            File(_MODELS + "flowers/imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
            File(_MODELS + "flowers/setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
        ),
        _generate.flowers,
    ),
    "cifar10": Set(
        "cifar",
        (File(_BOS + "cifar/cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),),
        _generate.cifar10,
    ),
    "cifar100": Set(
        "cifar",
        (File(_BOS + "cifar/cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"),),
        _generate.cifar100,
    ),
    "imdb": Set(
        "imdb",
        (File(_BOS + "imdb%2FaclImdb_v1.tar.gz", "7c2ac02c03563afcf9b574c7e56c153a"),),
        _generate.imdb,
    ),
    "imikolov": Set(
        "imikolov",
        (File(_BOS + "imikolov%2Fsimple-examples.tgz", "30177ea32e27c525793142b6bf2c8e2d"),),
        _generate.imikolov,
    ),
    "movielens": Set(
        "movielens",
        (File(_BOS + "movielens%2Fml-1m.zip", "c4d9eecfca2ab87c1945afe126590906"),),
        _generate.movielens,
    ),
    "criteo": Set(
        "criteo",
        (),
        _generate.criteo,
        only_made=(*(f"train/part-{i}" for i in range(4)), "test/part-0"),
    ),
    "sentiment": Set(
        "corpora",
        (
            File(
                "https://corpora.bj.bcebos.com/movie_reviews%2Fmovie_reviews.zip",
                "155de2b77c6834dd8eea7cbe88e93acb",
            ),
        ),
        _generate.sentiment,
    ),
    "conll05": Set(
        "conll05st",
        (
            File(
                _MODELS + "conll05st/conll05st-tests.tar.gz",
                "387719152ae52d60422c016e92a742fc",
            ),
            File(_MODELS + "conll05st%2FwordDict.txt", "ea7fb7d4c75cc6254716f0177a506baa"),
            File(_MODELS + "conll05st%2FverbDict.txt", "0d2977293bbb6cbefab5b0f97db1e77c"),
            File(_MODELS + "conll05st%2FtargetDict.txt", "d8c7f03ceb5fc2e5a0fa7503a4353751"),
            File(_MODELS + "conll05st%2Femb", "bf436eb0faa1f6f9103017f8be57cdb7"),
        ),
        _sentences.conll05,
    ),
    "wmt14": Set(
        "wmt14",
        (File(_MODELS + "wmt/wmt14.tgz", "0791583d57d5beb693b9414c5b36798c"),),
        _sentences.wmt14,
    ),
    "wmt16": Set(
        "wmt16",
        (File(_MODELS + "wmt/wmt16.tar.gz", "0c38be43600334966403524a40dcd81e"),),
        _sentences.wmt16,
    ),
    "voc2012": Set(
        "voc2012",
        (
            File(
                "http://host.robots.ox.ac.uk/pascal/VOC/voc2012/VOCtrainval_11-May-2012.tar",
                "6cd6e144f989b92b3379bac3b3de84fd",
            ),
        ),
        None,
    ),
    "mq2007": Set(
        "MQ2007",
        (
            File(
                "http://www.bigdatalab.ac.cn/benchmark/upload/download_source/"
                "7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar",
                "7be1640ae95c6408dab0ae7207bdc706",
            ),
        ),
        None,
    ),
}

_found = {}  # (set, folder of the cache, ...) to Found
_why = {}  # set to the reason for which it could not be downloaded
_checked = {}  # path, size and time of a file to its MD5


def set_of(module, name):
    """The name of the set to which a file belongs, or None."""
    for key, one in SETS.items():
        if one.module == module and any(file.name == name for file in one.files):
            return key
    return None


def urls(name):
    return [file.url for file in SETS[name].files]


def matches(path, md5):
    """Whether a file is there with this MD5. Each version of a file is read only once."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    if md5 is None:
        return True
    key = path, status.st_size, status.st_mtime_ns
    if key not in _checked:
        _checked[key] = md5_of(path)
    return _checked[key] == md5


def downloads_allowed():
    return os.environ.get("FLT_DOWNLOAD", "1").lower() not in ("0", "false", "off", "no")


def look(name, home):
    """Where a set lies already, or None: no download, nothing generated."""
    one = SETS[name]
    folders = [(os.path.join(home, one.module), "cached")]
    if os.environ.get("FLT_TEST_DATA"):
        folders.append((os.path.join(os.environ["FLT_TEST_DATA"], one.module), "test data"))
    for folder, origin in folders:
        here = [matches(os.path.join(folder, file.name), file.md5) for file in one.files]
        if here and all(here):
            return Found(folder, origin)
    return None


def locate(name, home):
    """The set ``name``: found, downloaded or generated."""
    key = name, home, os.environ.get("FLT_TEST_DATA"), os.path.expanduser("~")
    if key not in _found:
        _found[key] = look(name, home) or _fetch_set(name, home) or _generate_set(name, home)
    return _found[key]


def _fetch_set(name, home):
    one = SETS[name]
    folder = os.path.join(home, one.module)
    if not one.files:
        _why[name] = "it has no known download address"
        return None
    if not downloads_allowed():
        _why[name] = "FLT_DOWNLOAD forbids downloading it"
        return None
    try:
        for file in one.files:
            path = os.path.join(folder, file.name)
            if not matches(path, file.md5):
                fetch(file.url, path, file.md5)
    except (DownloadError, OSError) as error:
        _why[name] = str(error)
        return None
    return Found(folder, "cached")


def made(name):
    """The folder of the generated set, made if it is missing."""
    one = SETS[name]
    return _generate.ready(name, one.generate, one.version, one.names)


def is_made(name):
    one = SETS[name]
    return one.generate is not None and _generate.is_ready(name, one.version, one.names)


def _generate_set(name, home):
    one = SETS[name]
    if one.generate is None:
        files = ", ".join(f"{file.name} (MD5 {file.md5})" for file in one.files)
        raise DownloadError(
            f"{name} is missing, because {_why[name]}, and nothing is generated in its place; put "
            f"{files} into {os.path.join(home, one.module)}"
        )
    folder = made(name)
    print(
        f"paddle.dataset: {name} was generated by Flotilla and is not the real data set, because "
        f"{_missing(name, home)} and {_why[name]}. It is in {folder}.",
        file=sys.stderr,
    )
    return Found(folder, "generated")


def _missing(name, home):
    """Which file is not there, or is not what it should be."""
    one = SETS[name]
    folder = os.path.join(home, one.module)
    for file in one.files:
        path = os.path.join(folder, file.name)
        if os.path.exists(path) and not matches(path, file.md5):
            return f"{path} has the MD5 {md5_of(path)} instead of {file.md5}"
    absent = [n for n in one.names if not os.path.exists(os.path.join(folder, n))]
    if 0 < len(absent) < len(one.names):
        return f"{os.path.join(folder, absent[0])} is missing"
    return f"{folder} does not hold it"
