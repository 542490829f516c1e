import itertools
import os
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from certificates import tls  # noqa: E402, F401
from hosts import network, no_host_is_left  # noqa: E402, F401


# Another for each test and each process that runs tests.
BASES = itertools.count(random.Random(os.getpid()).randrange(20000, 28000, 16), 16)


@pytest.fixture
def ports():
    """Ports for the store and the processes that other tests do not use."""
    base = next(BASES)
    return {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(base + 1), "FLT_JOB_TOKEN": "t"}
