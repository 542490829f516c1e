"""Hosts with networks of their own are made by the helper of the launcher's tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))

from hosts import network  # noqa: E402, F401
