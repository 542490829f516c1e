"""A disk that is full: under a log, a save, and the log and the saves of servers."""

import re
import subprocess
import sys

import pytest
from job import Job

FULL = "No space left on device; free some space, or choose another folder"


def small_disk(folder):
    """Words that run a command where `folder` is a disk of 64 KiB."""
    mount = f'mount -t tmpfs -o size=64k disk {folder} && exec "$@"'
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    done = subprocess.run([*words, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("this kernel lets us mount no small disk: " + done.stderr)
    return words


def test_a_full_disk_under_a_log(tmp_path):
    (tmp_path / "log").mkdir()
    script = "for _ in range(10000):\n    print('a line of some forty letters, without end', flush=True)\n"
    job = Job(tmp_path, [], script, inside=small_disk(tmp_path / "log"))
    assert job.wait() != 0
    (line,) = [line for line in job.err.splitlines() if "is full" in line]
    assert line.strip() == (
        "[the disk of log/workerlog.0 is full: what the process printed last could not be written, "
        "which may be why it failed. Free some space, or choose another --log_dir]"
    )


SAVES = """
import os
import paddle
from paddle import static

paddle.enable_static()
out = static.nn.fc(static.data("x", [None, 100]), 400)
exe = static.Executor()
exe.run(static.default_startup_program())
try:
    static.save(static.default_main_program(), "tiny/model")
except (RuntimeError, ValueError) as error:
    print(str(error).splitlines()[0])
print(sorted(os.listdir("tiny")))
"""


def test_a_full_disk_under_a_save(tmp_path):
    (tmp_path / "tiny").mkdir()
    done = subprocess.run(
        [*small_disk(tmp_path / "tiny"), sys.executable, "-c", SAVES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    said, left = done.stdout.splitlines()
    assert said == f"cannot write tiny/model.pdparams: {FULL}", done.stderr
    assert left == "[]"


SERVED = """
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init()
    ids = paddle.static.data("ids", [None, 1], "int64")
    rows = paddle.static.nn.embedding(ids, [1000, 64], is_sparse=True)
    loss = paddle.mean(rows)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        for _ in range({steps}):
            exe.run(feed={{"ids": np.arange(1000)[:, None]}}, fetch_list=[loss])
        fleet.save_persistables(exe, "tiny/saved")
        fleet.stop_worker()
"""
COUNTS = ["--worker_num=1", "--server_num=1"]


def assert_told(job, what):
    """Of the worker that asked, the launcher says which file had no room, and of which server."""
    lines = job.err.splitlines()
    told = rf"RuntimeError: cannot write {what}: {re.escape(FULL)}"
    (raised,) = [line for line in lines if line.startswith("  raised  ")]
    assert re.fullmatch("  raised  " + told, raised)
    assert lines[lines.index("    " + raised.removeprefix("  raised  ")) + 1] == "      server 0"


def test_a_full_disk_under_the_log_of_a_server(tmp_path):
    (tmp_path / "tiny").mkdir()
    options = [*COUNTS, "--ps_dir=tiny/tables"]
    job = Job(tmp_path, options, SERVED.format(steps=100), inside=small_disk(tmp_path / "tiny"))
    assert job.wait() == 1
    job.assert_nothing_left()
    assert_told(job, rf"{tmp_path}/tiny/tables/server-0-of-1/log\.0*1")


def test_a_full_disk_under_a_save_of_servers(tmp_path):
    (tmp_path / "tiny").mkdir()
    script = SERVED.format(steps=1)
    job = Job(tmp_path, COUNTS, script, inside=small_disk(tmp_path / "tiny"))
    assert job.wait() == 1
    job.assert_nothing_left()
    assert_told(job, rf"{tmp_path}/tiny/saved/\.save-\d+-0\.unfinished/.*/table\.0")
