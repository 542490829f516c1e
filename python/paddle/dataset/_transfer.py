"""Downloads: resumed where they broke off, checked, renamed into place when they are whole.

While it is on its way a file is called ``<name>.part``. One process at a time fetches a file; the
others wait for it. A host that cannot be reached is not tried again by this process.
"""

import contextlib
import fcntl
import hashlib
import http.client
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

CONNECT_SECONDS = 3.0  # to find and reach a host
READ_SECONDS = 30.0  # without a byte
LOCK_SECONDS = 300.0  # without a byte of the process that fetches or makes a file
_ATTEMPTS = 4  # in a row that bring nothing
_CHUNK = 1 << 18

_unreachable = {}  # host to reason


class DownloadError(RuntimeError):
    """A file could not be fetched."""


def md5_of(path):
    digest = hashlib.md5()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def only_one(folder):
    """Hold the lock of a folder, which is made if it is missing, among processes."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lock"), "a") as lock:
        _take(lock, folder)
        yield


def _take(lock, folder):
    """Wait for a lock, as long as something happens in its folder: a holder may have been stopped."""
    seen, since = None, time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.02)
        found = _state(folder)
        if found != seen:
            seen, since = found, time.monotonic()
        elif time.monotonic() - since > LOCK_SECONDS:
            raise DownloadError(
                f"another process holds the lock {lock.name}, and nothing has changed in that folder "
                f"for {LOCK_SECONDS:g} s: end it and try again"
            )


def _state(folder):
    """Changes with every file that comes, goes or grows."""
    sizes = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                sizes[entry.name] = entry.stat().st_size
    return sizes


def fetch(url, path, md5=None):
    """Fetch ``url`` into the file ``path``, unless another process has done so meanwhile."""
    _reach(url)
    with only_one(os.path.dirname(path)):
        if not (os.path.exists(path) and (md5 is None or md5_of(path) == md5)):
            _fetch_whole(url, path, md5)


def _fetch_whole(url, path, md5):
    part = path + ".part"
    resumed = _transfer_all(url, part)
    found = md5_of(part)
    if md5 is not None and found != md5 and resumed:
        os.unlink(part)  # the beginning may have been of another version
        _transfer_all(url, part)
        found = md5_of(part)
    if md5 is not None and found != md5:
        size = os.path.getsize(part)
        os.unlink(part)
        raise DownloadError(
            f"{url} gave {size} bytes with MD5 {found}, but MD5 {md5} was expected, so they were "
            f"thrown away"
        )
    os.replace(part, path)


def _transfer_all(url, part):
    """Transfer until nothing is missing. Whether bytes of an earlier process were kept."""
    resumed = _size(part) > 0
    failures = 0
    while True:
        before = _size(part)
        try:
            _transfer(url, part)
            return resumed
        except urllib.error.HTTPError as error:
            if error.code == 416 and before:  # what is there is longer than the file
                os.unlink(part)
                resumed = False
                continue
            problem = f"{url} was refused: {error.code} {error.reason}"
            final = error.code < 500
        except (OSError, http.client.HTTPException) as error:
            problem = (
                f"{url} broke off after {_size(part)} bytes, which are kept for the next try: "
                f"{error}"
            )
            final = False
        failures = 1 if _size(part) > before else failures + 1
        if final or failures == _ATTEMPTS:
            raise DownloadError(problem)
        time.sleep(0.2 * (failures - 1))


def _size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def _transfer(url, part):
    """One request, for the bytes that are missing. Raises where not all of them come."""
    there = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "flotilla"})
    if there:
        request.add_header("Range", f"bytes={there}-")
    with urllib.request.urlopen(request, timeout=READ_SECONDS) as answer:
        if there and not _continues(answer, there):
            there = 0
        length = answer.headers.get("Content-Length")
        total = there + int(length) if length is not None else None
        with open(part, "ab" if there else "wb") as file, _Progress(url, there, total) as progress:
            for chunk in iter(lambda: answer.read(_CHUNK), b""):
                file.write(chunk)
                there += len(chunk)
                progress.show(there)
            file.flush()
            os.fsync(file.fileno())
    if total is not None and there < total:
        raise ConnectionError(f"the connection ended after {there} of {total} bytes")


def _continues(answer, there):
    """Whether the answer is the rest that was asked for, and not the whole file again."""
    range_of = answer.headers.get("Content-Range", "")
    return answer.status == 206 and range_of.startswith(f"bytes {there}-")


def _reach(url):
    """Refuse at once what cannot be reached: names are looked up without a limit of their own."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return
    if not urllib.request.proxy_bypass(parts.hostname):
        proxy = urllib.request.getproxies().get(parts.scheme)
        if proxy:
            parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    if (host, port) not in _unreachable:
        _unreachable[host, port] = _why_unreachable(host, port)
    reason = _unreachable[host, port]
    if reason is not None:
        raise DownloadError(f"{host} cannot be reached: {reason}")


def _why_unreachable(host, port):
    reason = f"no answer in {CONNECT_SECONDS:g} s"

    def connect():
        nonlocal reason
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
            reason = None
        except OSError as error:
            reason = error.strerror or str(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    return reason


class _Progress:
    """A line that grows, on a terminal only."""

    def __init__(self, url, there, total):
        self._name = urllib.parse.unquote(url).rsplit("/", 1)[-1]
        self._total = total
        self._start = there
        self._began = time.monotonic()
        self._shown = None
        self._visible = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self):
        return self

    def show(self, there):
        now = time.monotonic()
        if not self._visible or (self._shown and now - self._shown < 0.1 and there != self._total):
            return
        self._shown = now
        speed = (there - self._start) / max(now - self._began, 1e-3) / 1e6
        if self._total:
            filled = 30 * there // self._total
            bar = "#" * filled + "." * (30 - filled)
            amount = f"[{bar}] {there / 1e6:.1f} of {self._total / 1e6:.1f} MB"
        else:
            amount = f"{there / 1e6:.1f} MB"
        sys.stderr.write(f"\r{self._name} {amount}, {speed:.1f} MB/s ")
        sys.stderr.flush()

    def __exit__(self, *_):
        if self._shown:
            sys.stderr.write("\n")
