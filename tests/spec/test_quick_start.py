"""Spec 000: digits by a small network, collective and on parameter servers."""

import json
import pathlib
import re

import printed
import pytest
from follow import DATA, FULL, adds, follows, looking_into

NAMES = ["model.py", "collective_trainer.py", "parameter_server_trainer.py"]
SAMPLES = {} if FULL else {"FLT_DATASET_LIMIT": "2048"}
STEPS = (60000 if FULL else 2048) // 64  # of an epoch


@pytest.fixture(autouse=True)
def programs(reader):
    """The printed programs as files."""
    blocks = printed.programs("000")
    assert len(blocks) == len(NAMES)
    for name, block in zip(NAMES, blocks):
        reader.write(name, block.text)


@pytest.fixture
def noting(reader):
    """The variables with which Python notes what a program computes."""
    reader.take("sitecustomize.py")
    return looking_into(reader.folder)


def noted(folder, rank=0):
    return json.loads((folder / f"noted.{rank}.json").read_text())


def assert_it_learns(losses, epochs, most):
    epoch = len(losses) // epochs
    assert len(losses) == epoch * epochs > 0
    assert losses[0] > 1.5  # ten classes, nothing known yet
    assert sum(losses[-epoch:]) < most * sum(losses[:epoch])


@follows("000", "--gpus 0,1,2,3")
def test_four_workers(reader, command, noting):
    """Exit code 0 and four logs; on each worker the loss of epoch 10 is under half of epoch 1's;
    all end with the same parameters."""
    done = reader.run(command, **SAMPLES, **noting)
    assert set(done.logs) == {f"workerlog.{rank}" for rank in range(4)}
    assert "launch train in CPU mode" in done.out
    assert "loss" not in str(done)
    ranks = [noted(reader.folder, rank) for rank in range(4)]
    for rank in ranks:
        assert len(rank["losses"]) == 10 * STEPS
        assert_it_learns(rank["losses"], 10, 0.5)
        assert len(rank["sums"]) == 6 and rank["sums"] == ranks[0]["sums"]


@follows("000", "--worker_num 2 --server_num 2")
def test_two_servers_and_two_workers(reader, command):
    """Exit code 0 and four logs; each worker prints its loss and accuracy at each step, and learns;
    the launcher says that the workers ended and that it ended the servers."""
    done = reader.run(command, **SAMPLES)
    assert set(done.logs) == {"serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"}
    for rank in range(2):
        lines = re.findall(r"loss: \[(\S+)\], acc: \[\S+\]", done.logs[f"workerlog.{rank}"])
        losses = [float(line) for line in lines]
        assert len(losses) == STEPS
        assert sum(losses[-5:]) < sum(losses[:5])
    assert "all workers exit, going to finish parameter server and heter_worker." in done.out
    assert "all parameter server are killed" in done.out


@adds("000", 1, "python collective_trainer.py")
@pytest.mark.parametrize("digits", ["real", "generated"])
def test_collective_trainer_alone(reader, command, noting, digits):
    """Prints nothing; the loss of epoch 10 is under a fifth of epoch 1's."""
    if digits == "generated":
        noting.update({} if FULL else {"FLT_DATASET_LIMIT": "16384"})
    elif DATA and pathlib.Path(DATA, "mnist").exists():
        noting["REAL_DIGITS"] = str(pathlib.Path(DATA, "mnist"))
    else:
        pytest.skip("FLT_TEST_DATA does not say where MNIST is")
    done = reader.run(command, FLT_THREADS="1", **noting)
    assert "loss" not in done.out
    assert_it_learns(noted(reader.folder)["losses"], 10, 0.2)


@adds("000", 2, "python parameter_server_trainer.py")
def test_parameter_server_trainer_alone(reader, command):
    """Prints loss and accuracy at each step; the last losses are under half of the first."""
    done = reader.run(command, FLT_THREADS="1", FLT_DATASET_LIMIT="16384")
    losses = [float(one) for one in re.findall(r"^loss: \[(.*)\], acc: \[.*\]$", done.out, re.M)]
    assert len(losses) == 16384 // 64
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])
