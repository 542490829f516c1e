"""The collective programs of the documents, as printed, on several workers."""

import os
import pathlib
import re
import subprocess

import pytest
from job import FLEETRUN

SPEC = os.environ.get("FLT_SPEC_DIR")


def programs(folder, number, names):
    """The Python blocks of a document as files."""
    if not SPEC:
        pytest.skip("FLT_SPEC_DIR does not say where the printed programs are")
    (path,) = pathlib.Path(SPEC).glob(f"{number}_*.txt")
    blocks = re.findall(r"^``` python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    for name, block in zip(names, blocks):
        (folder / name).write_text(block)


def test_four_workers_train_the_quick_start(tmp_path):
    """Spec 000: fleetrun --gpus 0,1,2,3 collective_trainer.py, on a machine without GPUs."""
    programs(tmp_path, "000", ["model.py", "collective_trainer.py"])
    done = subprocess.run(
        [FLEETRUN, "--gpus", "0,1,2,3", "collective_trainer.py"],
        cwd=tmp_path,
        env={**os.environ, "FLT_DOWNLOAD": "0", "FLT_DATASET_LIMIT": "2048"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    logs = {rank: (tmp_path / "log" / f"workerlog.{rank}").read_text() for rank in range(4)}
    assert done.returncode == 0, done.stderr + str(logs)
    assert "CPU" in done.stdout + done.stderr
