import fcntl
import itertools
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from certificates import tls  # noqa: E402, F401
from hosts import network, no_host_is_left  # noqa: E402, F401


def bases():
    """The first of 16 ports for each test: no other process that runs tests has them."""
    for first in range(20000, 28000, 800):
        # Locked for as long as this process lives.
        with open(Path(tempfile.gettempdir(), f"flotilla-test-ports-{first}"), "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield from itertools.cycle(range(first, first + 800, 16))


BASES = bases()


@pytest.fixture
def ports():
    """Ports for the store and the processes that other tests do not use."""
    base = next(BASES)
    return {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(base + 1), "FLT_JOB_TOKEN": "t"}
