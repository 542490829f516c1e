"""Jobs are started by the helper of the launcher's tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
