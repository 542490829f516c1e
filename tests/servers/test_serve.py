"""Servers without Python: flotilla serve, and programs in C++."""

import os
import pathlib
import subprocess
import sys
import threading

import pytest
import watched
from job import FLEETRUN, Job

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))
BINARIES = pathlib.Path(__file__).parents[2] / "build" / "dev" / "bin"

# Servers become `flotilla serve`; the worker looks at their numbers and goes.
SCRIPT = """
    import os, sys, time
    if os.environ["TRAINING_ROLE"] == "PSERVER":
        os.execv(os.environ["FLOTILLA"], ["flotilla", "serve", "--status_port", os.environ["PORT"]])
    import pathlib, urllib.request
    while True:
        try:
            url = "http://127.0.0.1:" + os.environ["PORT"] + "/metrics"
            pathlib.Path("metrics").write_bytes(urllib.request.urlopen(url).read())
            break
        except OSError:
            time.sleep(0.05)
"""


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def test_serves_until_the_launcher_says_that_all_is_done(tmp_path):
    options = ["--server_num=1", "--worker_num=1"]
    job = Job(tmp_path, options, SCRIPT, FLOTILLA=FLOTILLA, PORT=free_port())
    assert job.wait() == 0, job.err + job.log("serverlog.0")
    assert "flotilla_ps_requests_total 0" in (tmp_path / "metrics").read_text()
    assert "is listening on 127.0.0.1:" in job.log("serverlog.0")
    job.assert_nothing_left()


@pytest.mark.parametrize(
    "options, said, expected",
    [([], {}, "off"), (["--ps_dir=kept"], {}, None), ([], {"FLT_PS_SYNC": "each"}, "each")],
)
def test_a_folder_that_goes_with_the_job_is_not_synced(tmp_path, options, said, expected):
    script = """
        import os, pathlib, time
        if os.environ["TRAINING_ROLE"] == "PSERVER":
            pathlib.Path("made").write_text(repr(os.environ.get("FLT_PS_SYNC")))
            os.rename("made", "sync")
        while not os.path.exists("sync"):
            time.sleep(0.01)
    """
    job = Job(tmp_path, ["--server_num=1", "--worker_num=1", *options], script, **said)
    assert job.wait() == 0, job.err
    assert (tmp_path / "sync").read_text() == repr(expected)


def test_must_know_the_servers_of_its_job():
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PADDLE_")}
    done = watched.run([FLOTILLA, "serve"], env=clean)
    assert done.returncode == 1
    assert "needs the list of servers of its job: give --servers" in done.stderr


def test_by_hand_the_first_server_says_whom_it_waits_for(tmp_path):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
    server = subprocess.Popen(
        [FLOTILLA, "serve", f"--servers=127.0.0.1:{free_port()}", "--workers=2"],
        env=clean,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(30, server.kill)
    limit.start()
    try:
        said = next((line for line in server.stderr if "waiting for" in line), "nothing")
        server.terminate()
        server.communicate()
    finally:
        limit.cancel()
        server.kill()
        server.wait()
    assert "waiting for worker 0, worker 1: 1 of 3 processes of the job have joined" in said


@pytest.mark.parametrize("servers", [1, 2])
def test_workers_and_servers_in_cpp_and_python_compute_the_same(tmp_path, servers):
    """The servers and workers of the one have no Python in them."""
    losses = []
    examples = pathlib.Path(__file__).parents[2] / "examples"
    for program in (BINARIES / "example_served_mlp", examples / "python" / "served_mlp.py"):
        counts = [f"--server_num={servers}", "--worker_num=2"]
        done = watched.run(
            [FLEETRUN, *counts, "--quiet", program, "--steps=5", "--init=1"],
            cwd=tmp_path,
            env={**os.environ, "FLT_PYTHON": sys.executable, "FLT_DOWNLOAD": "0"},
            seconds=120,
        )
        assert done.returncode == 0, done.stderr
        losses.append(done.stdout.split())
    assert len(losses[0]) == 5 and losses[0] == losses[1]
