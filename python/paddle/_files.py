"""Files that a user names."""

import os
import stat

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def _opener(path, flags):
    # Without waiting for one who writes to a pipe.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = next((kind for test, kind in _KINDS if test(mode)), "a device")
    raise ValueError(f"{os.fspath(path)} is {kind}, but a file is expected")


def open_file(path, mode="rb", **options):
    """``open()`` for reading, of regular files: a pipe or a terminal might be waited for for ever."""
    return open(path, mode, opener=_opener, **options)
