"""Processes of one host share memory that needs no /dev/shm: a tiny one is no bus error."""

import subprocess

import pytest
from job import Job

TINY = 'mount -t tmpfs -o size=16k tmpfs /dev/shm && exec "$@"'
INSIDE = ["unshare", "--mount", "sh", "-c", TINY, "sh"]

TRAIN = """
    import shutil
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    assert shutil.disk_usage("/dev/shm").total <= 16384
    paddle.enable_static()
    fleet.init(is_collective=True)
    x = paddle.static.data("x", [None, 64])
    loss = paddle.mean(paddle.static.nn.fc(paddle.static.nn.fc(x, 2048), 512))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    for _ in range(3):
        exe.run(feed={"x": np.ones((4, 64), "float32")}, fetch_list=[loss])
    print("trained", flush=True)
"""


def test_workers_train_beside_a_tiny_dev_shm(tmp_path):
    if subprocess.run([*INSIDE, "true"], capture_output=True).returncode != 0:
        pytest.skip("mounting a small /dev/shm in a mount namespace takes root")
    job = Job(tmp_path, ["--nproc_per_node=2"], TRAIN, inside=INSIDE)
    assert job.wait() == 0, job.out + job.err
    assert "trained" in job.log("workerlog.0") and "trained" in job.log("workerlog.1")
