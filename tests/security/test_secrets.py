"""The secret of a job: asked for where others could join, and never shown."""

import os
import pathlib
import subprocess
import sys

import pytest
import watched
from hosts import SHOW, Host, free_port
from job import FLEETRUN, Job
from regression import NET

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))
SECRET = "Zq7-kV3_wX9+pL5=tR1"

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
        steps(exe, loss)
        pathlib.Path(f"trains.{RANK}").touch()
        while not os.path.exists("seen"):
            time.sleep(0.01)
        fleet.stop_worker()
"""


def assert_hidden(text, where, secret=SECRET):
    for i in range(len(secret) - 5):
        assert secret[i : i + 6] not in text, f"{where} shows a part of the secret: {text}"


def test_no_part_of_a_secret_is_shown(tmp_path):
    job = Job(
        tmp_path,
        ["--worker_num=2", "--server_num=1", "--json"],
        NET + SCRIPT,
        MODE="sync",
        STEPS="2",
        FLT_JOB_TOKEN=SECRET,
        FLT_LOG_LEVEL="trace",
        GRPC_VERBOSITY="info",
    )
    job.wait_for("trains.*", 2)
    try:
        lines = [pathlib.Path(f"/proc/{pid}/cmdline").read_text() for pid in job.pids()]
        command = [FLOTILLA, "inspect", "job", str(job.process.pid), "--seconds=0.1"]
        inspected = watched.run(command)
    finally:
        (tmp_path / "seen").touch()
    assert job.wait() == 0, job.err
    assert len(lines) >= 4  # the launcher, a server and two workers
    assert_hidden("".join(lines), "a command line")
    assert inspected.returncode == 0, inspected.stderr
    assert_hidden(inspected.stdout + inspected.stderr, "flotilla inspect job")
    assert_hidden(job.out, "the launcher's output")
    assert "PADDLE_GLOO_FS_PATH" in job.err  # the table that had the first eight characters
    assert_hidden(job.err, "the launcher's log")
    for log in (tmp_path / "log").iterdir():
        assert_hidden(log.read_text(), log.name)


def test_the_list_of_variables_does_not_show_the_secret():
    environment = {
        **os.environ,
        "FLT_JOB_TOKEN": SECRET,
        "FLT_MADE_TOKEN": SECRET,
        "FLT_REQUIRE_TOKEN": "1",
    }
    said = subprocess.run([FLOTILLA, "env"], capture_output=True, text=True, env=environment)
    assert said.returncode == 0
    rows = {line.split()[0]: line.split()[1] for line in said.stdout.splitlines() if line.strip()}
    assert rows["FLT_JOB_TOKEN"] == rows["FLT_MADE_TOKEN"] == "(set)"
    assert rows["FLT_REQUIRE_TOKEN"] == "1"
    assert_hidden(said.stdout, "flotilla env")


def test_a_wrong_secret_is_refused_without_showing_either(tmp_path):
    """By hand: worker 1 has another secret than worker 0."""
    port = free_port("127.0.0.1")
    environment = {
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_TRAINER_ENDPOINTS": f"127.0.0.1:{port},127.0.0.1:{int(port) + 1}",
    }
    script = "from paddle.distributed import fleet\nfleet.init(is_collective=True)\n"
    other = "".join(reversed(SECRET))
    hosts = []
    for rank, secret in enumerate([SECRET, other]):
        environment["PADDLE_TRAINER_ID"] = str(rank)
        environment["PADDLE_CURRENT_ENDPOINT"] = f"127.0.0.1:{int(port) + rank}"
        hosts.append(
            Host(
                tmp_path / str(rank),
                [],
                script,
                program=(sys.executable,),
                **environment,
                FLT_JOB_TOKEN=secret,
            )
        )
    assert hosts[1].wait() != 0
    assert "its FLT_JOB_TOKEN is not that of the job" in hosts[1].err
    hosts[0].process.terminate()
    hosts[0].wait()
    assert "it did not show the job's token" in hosts[0].err
    for host in hosts:
        assert_hidden(host.out + host.err, "a process", SECRET)
        assert_hidden(host.out + host.err, "a process", other)


IPS = ["127.0.0.1", "127.0.0.2"]
MAKES_ONE = "`export FLT_JOB_TOKEN=$(openssl rand -hex 32)`"


def start(tmp_path, **environment):
    base = int(free_port(*IPS))
    ports = {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(min(base + 1, 65000))}
    listed = ",".join(IPS)
    return [
        Host(
            tmp_path / ip,
            [f"--ips={listed}", f"--host={ip}", "--nproc_per_node=1"],
            SHOW,
            **ports,
            **environment,
        )
        for ip in IPS
    ]


def test_several_hosts_without_a_secret_run_with_one_warning(tmp_path):
    hosts = start(tmp_path)
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    for host in hosts:
        warning = (
            "FLT_JOB_TOKEN is not set: any user of 127.0.0.1, 127.0.0.2 can join this job, read "
            f"and change what it trains, and end it. Make a secret with {MAKES_ONE}"
        )
        assert host.err.count("FLT_JOB_TOKEN is not set") == 1 and warning in host.err, host.err


# A worker that is a host of another job.
INSIDE = f"""
import os, pathlib, subprocess, sys
pathlib.Path("inner.py").write_text({SHOW!r})
command = [{FLEETRUN!r}, *os.environ["INNER"].split(), "inner.py"]
sys.exit(subprocess.run(command).returncode)
"""


def test_a_token_that_a_launcher_made_is_no_secret_of_a_job_inside(tmp_path):
    """Every one has made another."""
    base = int(free_port(*IPS))
    options = ["--nproc_per_node=1", "--log_dir=outer"]
    hosts = []
    for ip in IPS:
        ports = f"--start_port={min(base + 1, 65000)}"
        inner = f"--nnodes=2 --ips={','.join(IPS)} --host={ip} --nproc_per_node=1 {ports}"
        hosts.append(Host(tmp_path / ip, options, INSIDE, INNER=inner, FLT_STORE_PORT=str(base)))
    assert [host.wait() for host in hosts] == [0, 0], [host.out + host.err for host in hosts]
    for host in hosts:
        assert "FLT_JOB_TOKEN is not set: any user of 127.0.0.1, 127.0.0.2" in host.out, host.out
        (shown,) = host.environments()
        assert shown["FLT_JOB_TOKEN"] == shown["FLT_MADE_TOKEN"] == "job default"


def test_a_secret_can_be_demanded(tmp_path):
    hosts = start(tmp_path, FLT_REQUIRE_TOKEN="1")
    assert all(host.wait() != 0 for host in hosts), [host.err for host in hosts]
    for host in hosts:
        assert "FLT_REQUIRE_TOKEN is 1, but FLT_JOB_TOKEN is not set" in host.err
        assert MAKES_ONE in host.err
        assert not list((host.folder / "log").glob("workerlog.*"))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_secret_can_be_demanded_at_a_master(tmp_path, rank):
    master = f"127.0.0.1:{free_port('127.0.0.1')}"
    options = [f"--master={master}", "--nnodes=2", f"--rank={rank}", "--nproc_per_node=1"]
    host = Host(tmp_path / "host", options, SHOW, FLT_REQUIRE_TOKEN="1")
    assert host.wait() != 0
    assert f"any user of any host that reaches {master} can join this job" in host.err


def test_a_secret_can_be_demanded_of_processes_by_hand(tmp_path):
    port = free_port("127.0.0.1")
    script = "from paddle.distributed import fleet\nfleet.init(is_collective=True)\n"
    host = Host(
        tmp_path / "host",
        [],
        script,
        program=(sys.executable,),
        PADDLE_TRAINERS_NUM="2",
        PADDLE_TRAINER_ID="1",
        PADDLE_TRAINER_ENDPOINTS=f"127.0.0.1:{port},127.0.0.1:{int(port) + 1}",
        PADDLE_CURRENT_ENDPOINT=f"127.0.0.1:{int(port) + 1}",
        FLT_REQUIRE_TOKEN="1",
    )
    assert host.wait() != 0
    assert "FLT_REQUIRE_TOKEN is 1, but FLT_JOB_TOKEN is not set" in host.err
    assert "any user of 127.0.0.1 can join this job" in host.err
