"""The programs of the documents, as printed, with plain ``python``: one process.

The text comes from $FLT_SPEC_DIR. Its program for collective training prints nothing, so what its
executor returns is noted. The digits are real where $FLT_TEST_DATA has MNIST's test files
(both modes then read these), and otherwise generated.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from printed import document, fenced_programs

DATA = os.environ.get("FLT_TEST_DATA")
NAMES = ["model.py", "collective_trainer.py", "parameter_server_trainer.py"]

# Python runs this before the program, which stays as it is.
CUSTOMIZE = """
import atexit, functools, json, os

import paddle

real = os.environ["REAL_DIGITS"]
if real:
    paths = [os.path.join(real, f"t10k-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1")]
    paddle.vision.datasets.MNIST = functools.partial(paddle.vision.datasets.MNIST, *paths)
run, losses = paddle.static.Executor.run, []

def noted(*args, **kwargs):
    values = run(*args, **kwargs)
    if values:
        losses.append(float(values[0].item()))
    return values

paddle.static.Executor.run = noted
atexit.register(lambda: json.dump(losses, open("losses.json", "w")))
"""


@pytest.fixture
def folder(tmp_path):
    """The printed programs as files."""
    blocks = fenced_programs("000")
    assert len(blocks) == len(NAMES)
    for name, block in zip(NAMES, blocks):
        (tmp_path / name).write_text(block)
    return tmp_path


def real_digits():
    folder = pathlib.Path(DATA or "", "mnist")
    if not DATA or not folder.exists():
        pytest.skip("FLT_TEST_DATA does not say where MNIST is")
    return str(folder)


def train(folder, name, real=""):
    """Runs a program with plain python; returns what it printed, and the losses it fetched."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZE)
    environment = {
        **os.environ,
        "FLT_DOWNLOAD": "0",
        "FLT_THREADS": "1",
        "PYTHONPATH": str(folder),
        "REAL_DIGITS": real,
    }
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "losses.json").read_text())


@pytest.mark.parametrize("digits", ["real", "generated"])
def test_collective_trainer_learns(folder, digits):
    printed, losses = train(
        folder, "collective_trainer.py", real_digits() if digits == "real" else ""
    )
    assert printed == ""
    epoch = len(losses) // 10
    assert len(losses) == epoch * 10 > 1000
    first, last = losses[:epoch], losses[-epoch:]
    assert losses[0] > 1.5  # ten classes, nothing known yet
    assert sum(last) < 0.2 * sum(first)


def test_parameter_server_trainer_learns_alone(folder):
    printed, losses = train(folder, "parameter_server_trainer.py")
    lines = printed.splitlines()
    assert len(lines) == len(losses) > 100
    assert all(re.fullmatch(r"loss: \[.*\], acc: \[.*\]", line) for line in lines)
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])


def test_fluid_dist_trains_on_housing(tmp_path):
    """Spec 004's program, alone; the document shows 258.23 on the real table."""
    (block,) = re.findall(
        r"^\.\. code:: python\n\n((?: {3}.*\n|\n)+)", document("004"), re.MULTILINE
    )
    (tmp_path / "fluid_dist.py").write_text(textwrap.dedent(block))
    done = subprocess.run(
        [sys.executable, "fluid_dist.py"],
        cwd=tmp_path,
        env={**os.environ, "FLT_DOWNLOAD": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (loss,) = re.fullmatch(r"step 10, loss: \[(\d+\.\d+)\]\n", done.stdout).groups()
    if DATA:
        assert 215 < float(loss) < 345
    else:
        assert "uci_housing is a set that Flotilla generated" in done.stderr
        assert 0 < float(loss) < 2000
