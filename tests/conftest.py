"""What holds for every test."""

import faulthandler
import os
import pathlib
import signal
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from watched import LOOK, Patience  # noqa: E402

LIMIT = 300  # seconds; a test that does not get on for so long hangs (watched.Patience)
OUTPUT = []  # where the stacks of such a test go, with which the run ends

# A run in the background of a shell ignores Ctrl-C, and so would every process that tests start and
# interrupt. A handler is not inherited: they begin as in the foreground.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure():
    # What tests print is captured, and lost when the run ends at once; this is not yet.
    OUTPUT.append(os.dup(sys.__stderr__.fileno()))


def end_in(seconds):
    """The end needs no lock of the interpreter, which a test that hangs may hold."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=OUTPUT[0])


def watch(test, limit, done):
    """Puts the end off for as long as a test gets on."""
    patience = Patience(limit, own=True)
    while not done.wait(LOOK):
        if why := patience.over():
            os.write(OUTPUT[0], f"\n{test} hangs: {why}\n".encode())
            return end_in(0.1)
        end_in(limit)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    own = item.get_closest_marker("limit")
    limit = own.args[0] if own else LIMIT
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(item.nodeid, limit, done), daemon=True)
    end_in(limit)
    watcher.start()
    yield
    done.set()
    watcher.join()
    faulthandler.cancel_dump_traceback_later()
