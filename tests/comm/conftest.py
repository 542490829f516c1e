import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "launch"))

from hosts import network, no_host_is_left  # noqa: E402, F401
