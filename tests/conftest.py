"""What holds for every test."""

import faulthandler
import signal

import pytest

LIMIT = 300  # seconds; a test that takes longer hangs, and ends the run with all its stacks

# A run in the background of a shell ignores Ctrl-C, and so would every process that tests start and
# interrupt. A handler is not inherited: they begin as in the foreground.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    own = item.get_closest_marker("limit")
    faulthandler.dump_traceback_later(own.args[0] if own else LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
