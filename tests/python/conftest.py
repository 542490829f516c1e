"""Every test starts with fresh programs, fresh names and an empty scope."""

import sys
from pathlib import Path

import paddle
import pytest
from paddle import static
from paddle.dataset import _sets, common
from paddle.utils import unique_name

sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))  # cases with recorded answers


@pytest.fixture(autouse=True)
def fresh():
    programs = static.Program(), static.Program()
    scope = static.Scope()
    with static.program_guard(*programs), static.scope_guard(scope), unique_name.guard():
        yield


@pytest.fixture
def executor():
    return static.Executor(paddle.CPUPlace())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A home in which sets are generated once for all tests of a file."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def generated_home(made, monkeypatch):
    """Sets come from nowhere but ``made``."""
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("FLT_DOWNLOAD", "0")
    monkeypatch.delenv("FLT_TEST_DATA", raising=False)
    monkeypatch.setattr(common, "DATA_HOME", str(made / "sets"))
    monkeypatch.setattr(_sets, "_found", {})
    return made
