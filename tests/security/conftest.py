"""Jobs are started by the helpers of the launcher's and of the servers' tests."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "launch"), str(TESTS / "servers"), str(TESTS / "security")]

from hosts import no_host_is_left  # noqa: E402, F401
