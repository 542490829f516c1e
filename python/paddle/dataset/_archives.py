"""Archives that a user names."""

import contextlib
import tarfile

from paddle._files import open_file


@contextlib.contextmanager
def open_archive(path):
    """The tar archive in a file, packed or not. A pipe is refused instead of waited for."""
    with open_file(path) as file, tarfile.open(fileobj=file, mode="r") as archive:
        yield archive
