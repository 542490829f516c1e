"""Files from the network, for models and their weights."""

import os
import tarfile
import zipfile

from paddle.dataset._sets import downloads_allowed
from paddle.dataset._transfer import DownloadError, fetch, md5_of

__all__ = ["get_weights_path_from_url"]

WEIGHTS_HOME = os.path.expanduser("~/.cache/paddle/hapi/weights")
_ENDINGS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")


def is_url(path):
    """Whether this is a place in the network."""
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url, md5sum=None):
    """The path of weights, from the cache of weights or fetched into it."""
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)


def get_path_from_url(url, root_dir, md5sum=None, check_exist=True, decompress=True, method="get"):
    """The path of a file in the folder ``root_dir``, fetched into it if it is missing or has another
    MD5; of an archive the path of what was in it. ``check_exist=False`` fetches it in any case."""
    if not is_url(url):
        raise ValueError(f"a URL that begins with http:// or https:// is expected, but is {url!r}")
    path = os.path.join(root_dir, url.partition("?")[0].rstrip("/").split("/")[-1])
    there = check_exist and os.path.exists(path) and (md5sum is None or md5_of(path) == md5sum)
    if not there:
        if not downloads_allowed():
            raise DownloadError(
                f"{path} is missing, and FLT_DOWNLOAD forbids downloading it from {url}"
            )
        if os.path.exists(path):
            os.unlink(path)
        fetch(url, path, md5sum)
    return _unpacked(path) if decompress and path.endswith(_ENDINGS) else path


def _unpacked(path):
    """Unpack an archive beside itself; the path of what it holds."""
    folder = os.path.dirname(path)
    zipped = path.endswith(".zip")
    with zipfile.ZipFile(path) if zipped else tarfile.open(path) as archive:
        names = archive.namelist() if zipped else archive.getnames()
        for name in names:
            if name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"{path}: the archive would write outside of its folder: {name!r}")
        roots = {name.split("/")[0] for name in names}
        stem = next(path[: -len(ending)] for ending in _ENDINGS if path.endswith(ending))
        target = folder if len(roots) == 1 else stem
        if zipped:
            archive.extractall(target)
        else:
            _extract(archive, target, path)
    return os.path.join(folder, *roots) if len(roots) == 1 else stem


def _extract(archive, target, path):
    for member in archive.getmembers():
        if not (member.isfile() or member.isdir()):
            raise ValueError(
                f"{path}: the archive holds {member.name!r}, which is no file or folder"
            )
        member.mode = 0o755 if member.isdir() else 0o644
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall(target, **safe)
