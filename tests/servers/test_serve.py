"""Servers without Python: flotilla serve."""

import os
import pathlib
import subprocess

from job import FLEETRUN, Job

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))

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
    assert "serves at 127.0.0.1:" in job.log("serverlog.0")
    job.assert_nothing_left()


def test_must_know_the_servers_of_its_job():
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PADDLE_")}
    done = subprocess.run(
        [FLOTILLA, "serve"], env=clean, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 1
    assert "must know the servers of its job: say --servers" in done.stderr
