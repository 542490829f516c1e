"""Jobs with servers in which something goes wrong."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import watched
from job import Job

# A regression in step. At step 20 each worker says that it is there; worker 1 does DEED.
SCRIPT = """
    import os, pathlib, signal, sys, time
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    fleet.init()
    x, y = paddle.static.data("x", [None, 8]), paddle.static.data("y", [None, 1])
    out = paddle.static.nn.fc(x, 1)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(out, y))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = os.environ.get("MODE") == "async"
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.05), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    random = np.random.RandomState(fleet.worker_index())
    for step in range(100):
        batch = random.rand(16, 8).astype("float32")
        feed = {"x": batch, "y": batch.sum(1, keepdims=True)}
        last = float(exe.run(feed=feed, fetch_list=[loss])[0])
        time.sleep(0.01)
        if step == 20:
            pathlib.Path("there.%d" % fleet.worker_index()).touch()
            if fleet.worker_index() == 1:
                exec(os.environ.get("DEED", ""))
    fleet.barrier_worker()
    assert last < 0.5, last
    print("attempt", os.environ["FLT_ATTEMPT"], "is done", flush=True)
    fleet.stop_worker()
"""
KILL = "os.environ['FLT_ATTEMPT'] == '0' and os.kill(os.getpid(), signal.SIGKILL)"
COUNTS = ["--worker_num=2", "--server_num=2"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_others_go_on_without_a_worker(tmp_path, mode):
    options = [*COUNTS, "--worker_failure=continue"]
    job = Job(tmp_path, options, SCRIPT, MODE=mode, DEED=KILL)
    assert job.wait() == 137
    assert "worker 1 failed first" in job.err and "the others continue" in job.err
    assert job.log("workerlog.0").endswith("attempt 0 is done\n")
    job.assert_nothing_left()


def test_a_worker_that_is_started_again_takes_part(tmp_path):
    job = Job(tmp_path, [*COUNTS, "--max_restart=1"], SCRIPT, DEED=KILL)
    assert job.wait() == 0, job.err
    assert job.log("workerlog.0").endswith("attempt 0 is done\n")
    assert job.log("workerlog.1.1").endswith("attempt 1 is done\n")


def test_a_worker_that_fails_ends_the_job(tmp_path):
    job = Job(tmp_path, COUNTS, SCRIPT, DEED="raise ValueError('bad batch')")
    assert job.wait() == 1
    assert "worker 1 failed first" in job.err and "ValueError: bad batch" in job.err
    assert job.seconds < 30
    job.assert_nothing_left()


def test_whoever_waits_for_servers_can_be_interrupted(tmp_path):
    """No launcher, and no server ever comes but the first, which hosts the store."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    script = tmp_path / "script.py"
    lines = SCRIPT.replace("\n    ", "\n").replace(
        "fleet.init_worker()", "print('connects', flush=True)\nfleet.init_worker()"
    )
    script.write_text(lines)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    clean.update(
        PADDLE_PSERVERS_IP_PORT_LIST=f"127.0.0.1:{port},127.0.0.1:{port + 1}",
        PADDLE_TRAINERS_NUM="1",
        FLT_JOB_TOKEN="secret",
        FLT_ATTEMPT="0",
    )
    roles = [
        {"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1", "PADDLE_PORT": str(port)},
        {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "0"},
    ]
    server, worker = (
        subprocess.Popen(
            [sys.executable, "-u", str(script)],
            env={**clean, **role},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for role in roles
    )
    try:
        while "connects" not in (line := worker.stdout.readline()):
            assert line, "the worker ended"
        time.sleep(0.3)
        began = time.monotonic()
        worker.send_signal(signal.SIGINT)
        out = watched.communicate(worker)[0]
        assert "KeyboardInterrupt" in out, out
        assert time.monotonic() - began < watched.room(8)
        # The worker is lost, which ends a job without a launcher.
        assert watched.wait(server) != 0
    finally:
        for one in (server, worker):
            one.kill()
