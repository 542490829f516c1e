"""The processes of ./bench that run real Paddle load Python's zlib first: Paddle brings another one,
and a zlib module that is loaded after it crashes or finds an "inconsistent stream state"."""

import os
import sys
from pathlib import Path

import pytest
import watched

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

# Stands for Paddle: says whether zlib was there first, and nothing more.
STAND_IN = """
import os, sys

with open(os.environ["SEEN"], "w") as seen:
    seen.write("zlib first" if "zlib" in sys.modules else "Paddle first")
raise ImportError("only its import is looked at")
"""


@pytest.mark.parametrize(
    "command",
    [
        ["worker.py", "paddle_side", "mlp", "", "1"],
        ["ctr_worker.py", "ctr_paddle", "async", "1", "."],
        ["ctr_worker.py", "ctr_fluid", "async", "1", "."],
        ["feeding/text_side.py", "file", "cat"],
        ["feeding/text_reader.py"],
    ],
    ids=["worker", "ctr_paddle", "ctr_fluid", "text_side", "text_reader"],
)
def test_zlib_is_loaded_before_paddle(command, tmp_path):
    package = tmp_path / "paddle"
    package.mkdir()
    (package / "__init__.py").write_text(STAND_IN)
    seen = tmp_path / "seen"
    script, *arguments = command
    watched.run(
        [sys.executable, BENCHMARKS / script, *arguments],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "SEEN": str(seen)},
        cwd=tmp_path,
        text=False,
    )
    assert seen.read_text() == "zlib first"
