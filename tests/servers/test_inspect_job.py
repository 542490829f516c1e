"""`flotilla inspect job`: what a job does, asked from outside while it runs."""

import pathlib
import re

import watched
from job import FLEETRUN, Job
from regression import NET

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))

# Trains until somebody has looked.
SCRIPT = """
    fleet.init()
    out, loss = net()
    distributed(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        while not os.path.exists("seen"):
            steps(exe, loss)
            pathlib.Path(f"trains.{RANK}").touch()
        fleet.stop_worker()
"""


def inspect(*arguments):
    command = [FLOTILLA, "inspect", "job", *arguments]
    return watched.run(command)


def test_workers_tables_and_staleness_are_shown(tmp_path):
    job = Job(
        tmp_path, ["--worker_num=2", "--server_num=1"], NET + SCRIPT, MODE="async", STEPS="20"
    )
    job.wait_for("trains.*", 2)
    try:
        shown = inspect(str(job.process.pid), "--seconds=0.5")
        assert shown.returncode == 0, shown.stderr
        everywhere = inspect("--seconds=0.1").stdout
    finally:
        (tmp_path / "seen").touch()
    assert job.wait() == 0, job.err
    text = shown.stdout
    assert f"job default (launcher {job.process.pid}): parameter servers" in text
    for rank in (0, 1):
        assert re.search(rf"worker {rank} +127.0.0.1 +step \d+", text), text
    (port,) = re.findall(r"^server 0 \((127.0.0.1:\d+)\):$", text, re.MULTILINE)
    assert re.search(r"^  table +[\d.]+ +\d", text, re.MULTILINE), text
    rates = {name: float(value) for name, value in re.findall(r"(requests|updates) ([\d.]+)", text)}
    assert rates["requests"] > 0 and rates["updates"] > 0, text
    assert re.search(r"staleness \d+\.\d updates for each push", text), text
    assert f"(launcher {job.process.pid})" in everywhere
    job.assert_nothing_left()
    gone = inspect(str(job.process.pid))
    assert gone.returncode == 1
    assert f"process {job.process.pid} is not a launcher of this user" in gone.stderr
    nobody = inspect("--servers", port)
    assert nobody.returncode == 1
    assert f"{port} does not answer as the status port" in nobody.stderr
