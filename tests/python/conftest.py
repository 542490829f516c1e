"""Every test starts with fresh programs, fresh names and an empty scope."""

import paddle
import pytest
from paddle import static
from paddle.utils import unique_name


@pytest.fixture(autouse=True)
def fresh():
    programs = static.Program(), static.Program()
    scope = static.Scope()
    with static.program_guard(*programs), static.scope_guard(scope), unique_name.guard():
        yield


@pytest.fixture
def executor():
    return static.Executor(paddle.CPUPlace())
