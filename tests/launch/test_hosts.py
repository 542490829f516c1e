"""Jobs on several hosts, which are listed with --ips."""

import os
import re
import signal
import socket
import textwrap
import time

import pytest
from hosts import SHOW, STAY, Host
from scripts import COLLECTIVE


def start(tmp_path, ips, script, ports, order=None, each=2, lists=None, more=()):
    hosts = {}
    for i in order or range(len(ips)):
        listed = ",".join(lists[i] if lists else ips)
        options = [f"--ips={listed}", f"--host={ips[i]}", f"--nproc_per_node={each}", *more]
        hosts[i] = Host(tmp_path / str(i), options, script, **ports)
        if order:
            time.sleep(0.3)
    return [hosts[i] for i in range(len(ips))]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_hosts_come_up_in_any_order(tmp_path, ports, order):
    ips = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    hosts = start(tmp_path, ips, SHOW, ports, order)
    assert [host.wait() for host in hosts] == [0, 0, 0], [host.err for host in hosts]
    first = int(ports["FLAGS_START_PORT"])
    endpoints = ",".join(f"{ip}:{first + i}" for ip in ips for i in range(2))
    for h, host in enumerate(hosts):
        for local, env in enumerate(host.environments()):
            assert env["PADDLE_TRAINER_ID"] == str(2 * h + local)
            assert env["PADDLE_TRAINER_ENDPOINTS"] == endpoints
            assert env["FLT_STORE"] == f"127.0.0.1:{ports['FLT_STORE_PORT']}"


def test_a_failure_on_one_host_ends_all_and_is_named_on_all(tmp_path, ports):
    script = """
import os, time, sys
if os.environ["PADDLE_TRAINER_ID"] == "3":
    print("this is the culprit", flush=True)
    sys.exit(7)
time.sleep(1000)
"""
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], script, ports)
    assert [host.wait() for host in hosts] == [7, 7], [host.err for host in hosts]
    for host in hosts:
        assert "worker 3 failed first" in host.err
        assert "host 127.0.0.2" in host.err
        assert "this is the culprit" in host.err


# Four processes that have joined the job and stay; rank 3 fails once all are there.
JOINED = """
import os, pathlib, sys, time
import _flotilla
_flotilla.fleet.join(_flotilla.role_from_environment(True))
rank = os.environ["PADDLE_TRAINER_ID"]
pathlib.Path("../there." + rank).touch()
while len(list(pathlib.Path("..").glob("there.*"))) < 4:
    time.sleep(0.01)
if rank == "3":
    time.sleep(0.7)  # what everyone does is told at least twice a second
    sys.exit(7)
time.sleep(1000)
"""


def test_every_host_shows_what_the_others_were_doing(tmp_path, ports):
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], JOINED, ports)
    assert [host.wait() for host in hosts] == [7, 7], [host.err for host in hosts]
    for host in hosts:
        assert "worker 3 failed first" in host.err
        table = host.err.split("what the others were doing:")[1].splitlines()[1:4]
        assert [row.split()[:3] for row in table] == [
            ["worker", "0", "127.0.0.1"],
            ["worker", "1", "127.0.0.1"],
            ["worker", "2", "127.0.0.2"],
        ]
        assert all("in the script's own code" in row for row in table)


def test_every_host_shows_where_all_stand_when_one_is_stuck(tmp_path, ports):
    stops = {"WHO": "3", "DEED": "os.kill(os.getpid(), signal.SIGSTOP)"}
    ips, script = ["127.0.0.1", "127.0.0.2"], textwrap.dedent(COLLECTIVE)
    hosts = start(tmp_path, ips, script, {**ports, **stops}, more=["--stall_warning=3"])
    said = re.compile(r"worker 3 \(pid (\d+) on 127.0.0.2\) has .*; the state of all processes:")
    tables = []
    for host in hosts:
        lines = iter(host.process.stderr.readline, "")
        pid = next(found.group(1) for line in lines if (found := said.search(line)))
        tables.append([host.process.stderr.readline() for _ in range(4)])
    os.kill(int(pid), signal.SIGCONT)
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    for table in tables:
        assert [row.split()[:3] for row in table] == [
            ["worker", str(rank), ips[rank // 2]] for rank in range(4)
        ]
        assert all("step 200" in row for row in table), table
        assert "stopped by a signal; before, in the script's own code" in table[3]


def test_nobody_is_blamed_on_any_host_where_all_wait_for_each_other(tmp_path, ports):
    script = """
import os
import numpy as np
import paddle
paddle.enable_static()
paddle.distributed.init_parallel_env()
paddle.distributed.recv(np.zeros([4], "float32"), src=1 - int(os.environ["PADDLE_TRAINER_ID"]))
"""
    ips = ["127.0.0.1", "127.0.0.2"]
    hosts = start(tmp_path, ips, script, ports, each=1, more=["--stall_timeout=2"])
    assert [host.wait() for host in hosts] == [124, 124], [host.err for host in hosts]
    for host in hosts:
        said = host.err.split("no progress for 2 s: all workers wait for each other")[1]
        assert "worker 0  127.0.0.1" in said and "worker 1  127.0.0.2" in said


@pytest.mark.parametrize("victim", [0, 1])
def test_a_launcher_that_is_killed_ends_the_others(tmp_path, ports, victim):
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], STAY, ports, each=1)
    for host in hosts:
        host.wait_for("there")
    hosts[victim].process.send_signal(signal.SIGKILL)
    other = hosts[1 - victim]
    assert other.wait() == 1
    assert ("lost" if victim == 0 else "the launcher on host 127.0.0.2 is gone") in other.err


def test_a_host_that_is_late_is_waited_for_by_name(tmp_path, ports):
    ips = ["127.0.0.1", "127.0.0.2"]
    options = [f"--ips={','.join(ips)}", "--nproc_per_node=1"]
    first = Host(tmp_path / "0", [*options, f"--host={ips[0]}"], SHOW, **ports)
    text = ""
    while "hosts have joined" not in text:
        text = first.process.stderr.readline()
        assert text, "the launcher ended"
    assert "waiting for 127.0.0.2 before the job starts: 1 of 2 hosts have joined" in text
    second = Host(tmp_path / "1", [*options, f"--host={ips[1]}"], SHOW, **ports)
    assert [host.wait() for host in (first, second)] == [0, 0]


def test_who_holds_the_port_of_the_store_is_named(tmp_path, ports):
    with socket.create_server(("127.0.0.1", int(ports["FLT_STORE_PORT"]))):
        options = ["--ips=127.0.0.1,127.0.0.2", "--host=127.0.0.1"]
        host = Host(tmp_path / "0", options, SHOW, **ports)
        assert host.wait() == 2
    assert f"it is used by python (pid {os.getpid()})" in host.err


def test_ctrl_c_on_one_host_ends_all(tmp_path, ports):
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], STAY, ports, each=1)
    for host in hosts:
        host.wait_for("there")
    hosts[1].process.send_signal(signal.SIGINT)
    assert hosts[1].wait() == 130
    assert hosts[0].wait() == 130
    assert "launcher 1 failed first" in hosts[0].err


def test_lists_in_another_order_are_told_from_a_network_fault(tmp_path, ports):
    ips = ["127.0.0.1", "127.0.0.2"]
    hosts = start(tmp_path, ips, SHOW, ports, lists=[ips, ips[::-1]])
    codes = [host.wait() for host in hosts]
    assert 2 in codes and 0 not in codes
    said = "".join(host.err for host in hosts)
    assert "Give every host the same list in the same order" in said


def test_hosts_that_mean_different_jobs_are_refused(tmp_path, ports):
    ips = ["127.0.0.1", "127.0.0.2"]
    hosts = [
        Host(
            tmp_path / str(i),
            [f"--ips={','.join(ips)}", f"--host={ips[i]}", f"--nproc_per_node={i + 1}"],
            SHOW,
            **ports,
        )
        for i in range(2)
    ]
    assert [host.wait() for host in hosts] == [2, 2], [host.err for host in hosts]
    assert "starts a different job" in hosts[0].err + hosts[1].err


def test_servers_of_several_hosts_end_when_the_last_worker_has_left(tmp_path, ports):
    script = """
import os, time
print("running", flush=True)
if os.environ["TRAINING_ROLE"] == "PSERVER":
    time.sleep(1000)
time.sleep(1.0 * int(os.environ["PADDLE_TRAINER_ID"]))
"""
    base = int(ports["FLAGS_START_PORT"])
    options = [
        f"--servers=127.0.0.1:{base},127.0.0.2:{base}",
        f"--workers=127.0.0.1:{base + 1},127.0.0.2:{base + 1}",
    ]
    hosts = [
        Host(tmp_path / str(i), [*options, f"--host=127.0.0.{i + 1}"], script, **ports)
        for i in range(2)
    ]
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    for host in hosts:
        assert "all parameter server are killed" in host.err


FAILS_ONCE = """
import os, pathlib, time
attempt, rank = os.environ["FLT_ATTEMPT"], os.environ["PADDLE_TRAINER_ID"]
pathlib.Path("rank" + rank + ".attempt" + attempt).touch()
if attempt == "0":
    if rank == "{culprit}":
        raise SystemExit(5)
    if rank != "{early}":
        time.sleep(1000)
"""


@pytest.mark.parametrize("culprit,early", [(0, 3), (3, 0), (2, 9)])
def test_a_collective_job_on_several_hosts_starts_again_as_a_whole(tmp_path, ports, culprit, early):
    ips = ["127.0.0.1", "127.0.0.2"]
    script = FAILS_ONCE.format(culprit=culprit, early=early)
    hosts = start(tmp_path, ips, script, ports, more=["--max_restart=2"])
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    for h, host in enumerate(hosts):
        assert f"worker {culprit} (pid " in host.err and "restart 1 of 2" in host.err
        assert "restart 2 of 2" not in host.err
        for rank in (2 * h, 2 * h + 1):
            assert (host.folder / f"rank{rank}.attempt1").exists()


def test_the_budget_of_restarts_counts_for_all_hosts(tmp_path, ports):
    ips = ["127.0.0.1", "127.0.0.2"]
    script = (
        "import os, time\nos.environ['PADDLE_TRAINER_ID'] == '1' and exit(6)\ntime.sleep(1000)\n"
    )
    hosts = start(tmp_path, ips, script, ports, each=1, more=["--max_restart=1"])
    assert [host.wait() for host in hosts] == [6, 6], [host.err for host in hosts]
    for host in hosts:
        assert "restart 1 of 1" in host.err and "worker 1 failed first" in host.err
