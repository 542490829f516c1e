"""Mistakes that users make, one test for each, with the sentence that they read.

Tests of one process start with fresh programs, fresh names and an empty scope; jobs are started by
the helper of the launcher's tests.
"""

import pathlib
import sys

import paddle
import pytest
from paddle import static
from paddle.utils import unique_name

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))

from hosts import network, no_host_is_left  # noqa: E402, F401


@pytest.fixture(autouse=True)
def fresh():
    programs = static.Program(), static.Program()
    with static.program_guard(*programs), static.scope_guard(static.Scope()), unique_name.guard():
        yield


@pytest.fixture
def executor():
    return static.Executor(paddle.CPUPlace())


@pytest.fixture
def said():
    """What a call says: the first line of its error, and the notes below by their labels."""

    def listen(call, kind=Exception):
        with pytest.raises(kind) as error:
            call()
        first, *others = str(error.value).splitlines()
        return first, dict(line.split(maxsplit=1) for line in others)

    return listen
