"""The programs of the documents that train on parameter servers, as printed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from job import FLEETRUN
from printed import document, fenced_programs

HERE = pathlib.Path(__file__).parent
DATA = os.environ.get("FLT_TEST_DATA")


def run(folder, command, **environment):
    """The output of a job that ends well, by process."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "FLT_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    logs = {path.name: path.read_text() for path in (folder / "log").iterdir()}
    assert done.returncode == 0, done.stdout + done.stderr + str(logs)
    return done.stdout + done.stderr, logs


def test_the_quick_start(tmp_path):
    """Spec 000: fleetrun --worker_num 2 --server_num 2 parameter_server_trainer.py."""
    model, _, trainer = fenced_programs("000")
    (tmp_path / "model.py").write_text(model)
    (tmp_path / "parameter_server_trainer.py").write_text(trainer)
    command = [FLEETRUN, "--worker_num", "2", "--server_num", "2", "parameter_server_trainer.py"]
    out, logs = run(tmp_path, command, FLT_DOWNLOAD="0", FLT_DATASET_LIMIT="2048")
    assert set(logs) == {"serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"}
    for rank in range(2):
        lines = re.findall(r"loss: \[(\d+\.\d+)\], acc: \[\d", logs[f"workerlog.{rank}"])
        assert len(lines) == 2048 // 64
    assert "all workers exit, going to finish parameter server and heter_worker." in out
    assert "all parameter server are killed" in out


MODES = {
    "async": "dist_strategy = fleet.DistributedStrategy()\ndist_strategy.a_sync = True\n",
    "sync": "dist_strategy = fleet.DistributedStrategy()\ndist_strategy.a_sync = False\n",
    "geo": "",  # what is printed last
}


@pytest.mark.skipif(not DATA, reason="FLT_TEST_DATA does not say where lines of Criteo are")
@pytest.mark.parametrize("mode", MODES)
def test_wide_and_deep(tmp_path, mode):
    """Spec 002: python3 -m paddle.distributed.launch --server_num=1 --worker_num=2 --gpus=0,1
    train.py."""
    for file in (HERE / "wide_deep").glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "data").mkdir()
    lines = (pathlib.Path(DATA) / "criteo" / "part-0").read_text().splitlines()[:400]
    (tmp_path / "data" / "part-0").write_text("\n".join(lines) + "\n")
    blocks = re.findall(r"^\.\. code-block:: python\n\n((?: {4}.*\n|\n)+)", document("002"), re.M)
    program = "import numpy as np\n" + "\n".join(textwrap.dedent(block) for block in blocks)
    optimizer = "optimizer = paddle.optimizer.SGD("
    assert program.count(optimizer) == 1
    (tmp_path / "train.py").write_text(program.replace(optimizer, MODES[mode] + optimizer))
    options = ["--server_num=1", "--worker_num=2", "--gpus=0,1"]
    command = [sys.executable, "-m", "paddle.distributed.launch", *options, "train.py"]
    out, logs = run(tmp_path, command)
    for line in ("gpus: 0,1", "server_num: 1", "worker_num: 2", "training_script: train.py"):
        assert line in out
    assert "Run parameter-sever mode. pserver arguments:['--worker_num', '--server_num']" in out
    for rank in range(2):
        losses = re.findall(r"^TRAIN ---> pass: 0 loss: (\S+)$", logs[f"workerlog.{rank}"], re.M)
        assert len(losses) == len(lines) // 10
        assert all(0 < float(loss) < 10 for loss in losses)
