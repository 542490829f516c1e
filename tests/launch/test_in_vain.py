"""What a launcher would wait for in vain: readers of its output, and hosts that there are not."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import watched
from job import FLEETRUN

LINES = 40_000

# Both print more than pipes hold; worker 1 fails then, and worker 0 would wait for ever.
FAILS = f"""
    import os, pathlib, sys, time
    rank = os.environ["PADDLE_TRAINER_ID"]
    print("\\n".join(f"line {{i}} of {{rank}} {{'.' * 40}}" for i in range({LINES})), flush=True)
    pathlib.Path("printed." + rank).touch()
    while len(list(pathlib.Path().glob("printed.*"))) < 2:
        time.sleep(0.01)
    if rank == "1":
        sys.exit(3)
    time.sleep(1000)
"""

PRINTS = f"""
    import os, pathlib, sys
    print("\\n".join(f"line {{i}} {{'.' * 100}}" for i in range({LINES})), flush=True)
    pathlib.Path("printed." + os.environ["PADDLE_TRAINER_ID"]).touch()
"""


def full_pipe():
    """Both ends of a pipe into which nothing more fits."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"full\n" * 100)
    except BlockingIOError:
        pass
    os.set_blocking(write, True)
    return read, write


def start(folder, script, *options, **outputs):
    path = pathlib.Path(folder, "script.py")
    path.write_text(textwrap.dedent(script))
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    return subprocess.Popen(
        [FLEETRUN, *options, str(path)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**variables, "FLT_PYTHON": sys.executable},
        **outputs,
    )


@pytest.mark.parametrize("stuck", [("stderr",), ("stdout",), ("stdout", "stderr")], ids=",".join)
def test_a_dead_worker_is_noticed_although_nobody_reads(tmp_path, stuck):
    read, write = full_pipe()
    outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    job = start(tmp_path, FAILS, "--nproc_per_node=2", **outputs | dict.fromkeys(stuck, write))
    try:
        assert watched.wait(job) == 3
    finally:
        job.kill()
        os.close(read)
        os.close(write)
    for rank in range(2):
        lines = (tmp_path / "log" / f"workerlog.{rank}").read_text().splitlines()
        assert sum("line" in line for line in lines) == LINES


def test_an_interrupt_is_heard_although_nobody_reads(tmp_path):
    read, write = full_pipe()
    waits = FAILS.replace("sys.exit(3)", "time.sleep(1000)")
    job = start(tmp_path, waits, "--nproc_per_node=2", "--tee", stdout=write, stderr=write)
    try:
        watched.wait_until(lambda: len(list(tmp_path.glob("printed.*"))) == 2, "printed.*")
        job.send_signal(signal.SIGINT)
        assert watched.wait(job) == 128 + signal.SIGINT
    finally:
        job.kill()
        os.close(read)
        os.close(write)


def test_a_late_reader_gets_everything(tmp_path):
    outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    job = start(tmp_path, PRINTS, "--nproc_per_node=1", **outputs)
    watched.wait_until(lambda: list(tmp_path.glob("printed.*")), "printed.*")
    time.sleep(1)
    out, err = watched.communicate(job)
    assert job.returncode == 0
    shown = [line for line in out.decode().splitlines() if line.startswith("line ")]
    assert [int(line.split()[1]) for line in shown] == list(range(LINES))
    assert "missing" not in err.decode()


def test_a_log_that_is_a_pipe_without_a_reader_is_refused(tmp_path):
    (tmp_path / "log").mkdir()
    os.mkfifo(tmp_path / "log" / "workerlog.0")
    job = start(tmp_path, "print(1)", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = watched.communicate(job)
    assert job.returncode == 2
    assert "workerlog.0: it is a named pipe without a reader" in err.decode()


@pytest.mark.parametrize("order", [1, -1])
def test_a_host_that_there_is_not_is_named(tmp_path, order):
    hosts = ",".join(["127.0.0.1", "no-such-host.invalid"][::order])
    outputs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    job = start(tmp_path, "print(1)", f"--ips={hosts}", **outputs)
    _, err = watched.communicate(job)
    assert job.returncode == 2
    assert 'but the name "no-such-host.invalid" cannot be resolved' in err.decode()
