"""What the data sets share: the cache, downloads, and samples in files."""

import glob
import itertools
import os
import pickle
import re

import _flotilla as core
from paddle._files import open_file
from paddle.base import restricted_pickle

from . import _sets
from ._transfer import DownloadError, fetch, md5_of

# Where downloaded sets are kept and looked for.
DATA_HOME = os.environ.get("PADDLE_DATA_HOME") or os.path.join(
    os.path.expanduser("~"), ".cache", "paddle", "dataset"
)


def limited(reader):
    """The first FLT_DATASET_LIMIT samples of a reader."""
    return lambda: itertools.islice(reader(), core.dataset_limit())


def must_mkdirs(path):
    """Make a folder and those above it, where they are missing."""
    os.makedirs(path, exist_ok=True)


def md5file(fname):
    """The MD5 of a file, as text."""
    return md5_of(fname)


def download(url, module_name, md5sum, save_name=None):
    """The path of a file from the cache, downloaded into it if it is missing.

    It is kept as ``<DATA_HOME>/<module_name>/<save_name>``, by default under the last part of the
    URL. A file of one of Paddle's own sets that can be neither found nor fetched is replaced by one
    that is generated, and a notice says so.
    """
    if not re.fullmatch(r"[\w/-]+", module_name, re.ASCII):
        raise ValueError(f"module_name must be a plain name, but is {module_name!r}")
    name = url.split("/")[-1] if save_name is None else save_name
    if not re.fullmatch(r"[\w/.%+-]+", name, re.ASCII) or ".." in name or name.startswith("/"):
        raise ValueError(f"the name of a downloaded file must be plain, but is {name!r}")
    path = os.path.join(DATA_HOME, module_name, name)
    if _sets.matches(path, md5sum):
        return path
    known = _sets.set_of(module_name, name)
    if known is not None and _sets.SETS[known].generate and url in _sets.urls(known):
        return os.path.join(_sets.locate(known, DATA_HOME).folder, name)
    put = f"; put the file with the MD5 {md5sum} there" if known else ""
    if not _sets.downloads_allowed():
        raise DownloadError(
            f"{path} is missing, and FLT_DOWNLOAD forbids downloading it from {url}{put}"
        )
    try:
        fetch(url, path, md5sum)
    except DownloadError as error:
        raise DownloadError(
            f"{path} is missing and could not be downloaded: {error}{put}"
        ) from error
    return path


def fetch_all():
    """Bring every set into the cache."""
    for name in _sets.SETS:
        _sets.locate(name, DATA_HOME)


def split(reader, line_count, suffix="%05d.pickle", dumper=pickle.dump):
    """Write the samples of a reader to files of ``line_count`` samples each.

    ``suffix % n`` names file n. ``dumper(samples, file)`` writes a list; a dumper of your own gets
    a text file.
    """
    if not callable(dumper):
        raise TypeError(f"dumper must be a function, but is {dumper!r}")
    if line_count < 1:
        raise ValueError(f"line_count must be 1 or more, but is {line_count}")
    samples, files = [], 0

    def write():
        with open(suffix % files, "wb" if dumper is pickle.dump else "w") as file:
            dumper(samples, file)

    for sample in reader():
        samples.append(sample)
        if len(samples) == line_count:
            write()
            samples, files = [], files + 1
    if samples:
        write()


def _samples(path):
    with open_file(path) as file:
        data = file.read()
    try:
        return restricted_pickle.loads(data)
    except restricted_pickle.Refused as error:
        raise ValueError(
            f"{path} holds no samples that can be read: {error}; give cluster_files_reader a loader "
            "of your own if you trust whoever wrote it"
        ) from None


def cluster_files_reader(files_pattern, trainer_count, trainer_id, loader=pickle.load):
    """A reader of every ``trainer_count``-th of the files that ``split`` wrote.

    ``loader(file)`` returns the samples of a file; a loader of your own gets a text file. The one of
    pickles makes arrays, dicts, lists, tuples, texts and numbers, and nothing else.
    """
    if not callable(loader):
        raise TypeError(f"loader must be a function, but is {loader!r}")
    if not 0 <= trainer_id < trainer_count:
        raise ValueError(
            f"trainer_id must lie in [0, {trainer_count}), because there are {trainer_count} "
            f"trainers, but is {trainer_id}"
        )

    def reader():
        for path in sorted(glob.glob(files_pattern))[trainer_id::trainer_count]:
            if loader is pickle.load:
                yield from _samples(path)
                continue
            with open_file(path, "r") as file:
                yield from loader(file)

    return reader
