import itertools
import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


# Another for each test and each process that runs tests.
BASES = itertools.count(random.Random(os.getpid()).randrange(20000, 28000, 16), 16)


@pytest.fixture
def ports():
    """Ports for the store and the processes that other tests do not use."""
    base = next(BASES)
    return {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(base + 1), "FLT_JOB_TOKEN": "t"}


@pytest.fixture(autouse=True)
def no_host_is_left():
    """A launcher that a failed test leaves behind would hold the next one's ports."""
    from hosts import Host

    yield
    for process in Host.started:
        if process.poll() is None:
            process.kill()
            process.wait()
    Host.started.clear()


@pytest.fixture
def network():
    """Makes a network of so many hosts."""
    from hosts import Network

    made = []

    def make(count):
        made.append(Network(count))
        return made[-1]

    yield make
    for each in made:
        each.close()
