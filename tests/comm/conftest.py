import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "launch"))


@pytest.fixture
def network():
    """Makes a network of so many hosts."""
    from hosts import Host, Network

    made = []

    def make(count):
        made.append(Network(count))
        return made[-1]

    yield make
    for process in Host.started:
        if process.poll() is None:
            process.kill()
            process.wait()
    Host.started.clear()
    for each in made:
        each.close()
