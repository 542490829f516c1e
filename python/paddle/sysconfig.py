"""Where the files of this installation are."""

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def get_include():
    """The folder of C++ headers in the package."""
    return os.path.join(_PACKAGE, "include")


def get_lib():
    """The folder of libraries in the package."""
    return os.path.join(_PACKAGE, "libs")
