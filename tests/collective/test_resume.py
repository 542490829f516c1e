"""A job that is killed goes on where its last checkpoint was, on any number of workers."""

import json
import random

import numpy as np
import pytest
from job import Job

TRAIN = """
    import json, os, signal, sys
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    die_at, steps = int(sys.argv[1]), 24
    paddle.enable_static()
    paddle.seed(3)
    np.random.seed(4)
    fleet.init(is_collective=True)
    rank, size = fleet.worker_index(), fleet.worker_num()
    x = paddle.static.data("x", [None, 6])
    hidden = paddle.static.nn.fc(x, 16, activation="relu")
    if sys.argv[2] == "dropout":
        hidden = paddle.nn.functional.dropout(hidden, 0.3)
    loss = paddle.mean(paddle.square(paddle.static.nn.fc(hidden, 1) - x[:, :1]))
    fleet.distributed_optimizer(paddle.optimizer.Adam(0.02)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    status = fleet.load_check_point(exe, "checkpoints", rank)
    step, losses = status.step, []
    while step < steps:
        rows = np.random.rand(12, 6).astype("float32")  # the same on all workers
        (value,) = exe.run(feed={"x": rows[rank::size]}, fetch_list=[loss])
        losses.append((step, float(fleet.util.all_reduce(np.float64(value.item())) / size)))
        step += 1
        if rank == 0:
            with open("losses", "a") as file:
                file.write(json.dumps(losses[-1]) + chr(10))
        if step % 4 == 0:
            fleet.save_check_point(exe, "checkpoints", fleet.TrainStatus(-1, step),
                                   remain_all_checkpoint=False)
        if step == die_at and rank == size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def run(folder, ranks, die_at, kind="dropout"):
    job = Job(folder, [f"--nproc_per_node={ranks}"], TRAIN, [str(die_at), kind])
    code = job.wait()
    job.assert_nothing_left()
    assert code == (137 if die_at else 0), job.out + job.err


def losses(folder):
    """The last loss of each step: what was done again counts."""
    lines = (folder / "losses").read_text().splitlines()
    return [value for _, value in sorted(dict(map(json.loads, lines)).items())]


def folders(tmp_path):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    return tmp_path / "whole", tmp_path / "killed"


def test_a_killed_job_resumes_to_the_bit(tmp_path):
    whole, killed = folders(tmp_path)
    run(whole, 2, 0)
    run(killed, 2, random.Random(5).randrange(5, 23))
    run(killed, 2, 0)
    assert losses(killed) == losses(whole)


@pytest.mark.parametrize("ranks", [1, 3])
def test_another_number_of_workers_resumes(tmp_path, ranks):
    whole, killed = folders(tmp_path)
    run(whole, 2, 0, "plain")
    run(killed, 2, 14, "plain")
    run(killed, ranks, 0, "plain")
    np.testing.assert_allclose(losses(killed), losses(whole), rtol=1e-4)
