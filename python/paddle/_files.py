"""Files that a user names."""

import os
import stat

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_NULL = os.makedev(1, 3)  # /dev/null, which nobody waits for


def _opener(path, flags):
    # Without waiting for one who writes to a pipe.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    mode = status.st_mode
    if stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and status.st_rdev == _NULL):
        return descriptor
    os.close(descriptor)
    kind = next((kind for test, kind in _KINDS if test(mode)), "a device")
    raise ValueError(f"{os.fspath(path)} is {kind}, not a file")


def open_file(path, mode="rb", **options):
    """``open()`` for reading, of regular files: a pipe or a terminal might be waited for for ever."""
    return open(path, mode, opener=_opener, **options)
