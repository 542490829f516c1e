"""The documents whose programs and commands are tested as printed; $FLT_SPEC_DIR says where."""

import os
import pathlib
import re

import pytest

SPEC = os.environ.get("FLT_SPEC_DIR")


def document(number):
    """The text of a document."""
    if not SPEC:
        pytest.skip("FLT_SPEC_DIR does not say where the printed programs are")
    (path,) = pathlib.Path(SPEC).glob(f"{number}_*.txt")
    return path.read_text()


def fenced_programs(number):
    """The Python blocks of a document in Markdown."""
    return re.findall(r"^``` python\n(.*?)^```$", document(number), re.MULTILINE | re.DOTALL)
