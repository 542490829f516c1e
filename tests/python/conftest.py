"""Every test starts with fresh programs, fresh names and an empty scope."""

import sys
from pathlib import Path

import paddle
import pytest
from paddle import static
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
