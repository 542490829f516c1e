"""Jobs are started by the helpers of the launcher's tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))

from certificates import tls  # noqa: E402, F401
from hosts import network, no_host_is_left  # noqa: E402, F401
