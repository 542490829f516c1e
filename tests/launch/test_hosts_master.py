"""Jobs whose hosts meet at --master."""

import os
import signal
import socket

import pytest
from hosts import SHOW, STAY, Host


@pytest.fixture
def master(ports):
    return f"127.0.0.1:{ports['FLT_STORE_PORT']}"


def start(tmp_path, number, master, script, *options, **environment):
    words = [f"--master={master}", f"--host=127.0.0.{number + 1}", *options]
    return Host(tmp_path / str(number), words, script, **environment)


def test_hosts_come_in_any_order_and_keep_the_ranks_they_are_given(tmp_path, master):
    hosts = {}
    for i in (2, 0, 1):
        hosts[i] = start(tmp_path, i, master, SHOW, "--nnodes=3", f"--rank={i}")
    assert [hosts[i].wait() for i in range(3)] == [0, 0, 0], [h.err for h in hosts.values()]
    for i in range(3):
        (env,) = hosts[i].environments()
        assert env["PADDLE_TRAINER_ID"] == str(i)
        assert env["PADDLE_TRAINERS_NUM"] == "3"
        assert env["PADDLE_CURRENT_ENDPOINT"].startswith(f"127.0.0.{i + 1}:")
        assert env["FLT_STORE"] == master
        assert len(env["FLT_JOB_TOKEN"]) == 32


def test_a_range_starts_with_those_that_are_there(tmp_path, master):
    options = ["--nnodes=2:4", "--elastic_timeout=1"]
    hosts = [start(tmp_path, i, master, SHOW, *options) for i in range(3)]
    assert [host.wait() for host in hosts] == [0, 0, 0], [host.err for host in hosts]
    assert {host.environments()[0]["PADDLE_TRAINERS_NUM"] for host in hosts} == {"3"}


def test_a_second_copy_of_a_rank_is_refused_by_name_and_the_others_go_on(tmp_path, master):
    first = start(tmp_path, 0, master, SHOW, "--nnodes=2", "--rank=0")
    copy = start(tmp_path, 1, master, SHOW, "--nnodes=2", "--rank=0")
    codes = {}
    # Whichever has the address is right.
    while not codes:
        codes = {h: h.wait() for h in (first, copy) if h.process.poll() is not None}
    ((refused, code),) = codes.items()
    right = copy if refused is first else first
    assert code == 2
    assert "rank 0 is taken by host 127.0.0." in refused.err and "second copy" in refused.err
    other = start(tmp_path, 2, master, SHOW, "--nnodes=2", "--rank=1")
    assert [right.wait(), other.wait()] == [0, 0], [right.err, other.err]


def test_other_counts_and_other_jobs_are_told_apart(tmp_path, master):
    first = start(tmp_path, 0, master, SHOW, "--nnodes=2", "--job_id=a")
    other = start(tmp_path, 1, master, SHOW, "--nnodes=2", "--job_id=b")
    while first.process.poll() is None and other.process.poll() is None:
        pass
    refused, there = (first, other) if first.process.poll() is not None else (other, first)
    assert refused.wait() == 2
    assert "give every host the same --job_id" in refused.err
    name = "a" if there is first else "b"
    counts = start(tmp_path, 2, master, SHOW, "--nnodes=3", f"--job_id={name}")
    assert [there.wait(), counts.wait()] == [2, 2]
    for host in (there, counts):
        assert "has --nnodes 3" in host.err and "has --nnodes 2" in host.err


def test_a_failure_is_named_on_all_hosts(tmp_path, master):
    script = """
import os, sys, time
if os.environ["PADDLE_TRAINER_ID"] == "1":
    sys.exit(7)
time.sleep(1000)
"""
    hosts = [start(tmp_path, i, master, script, "--nnodes=2") for i in range(2)]
    assert [host.wait() for host in hosts] == [7, 7], [host.err for host in hosts]
    for host in hosts:
        assert "worker 1 failed first" in host.err


@pytest.mark.parametrize("count", ["2", "2:4"])
@pytest.mark.parametrize("secret", [{}, {"FLT_JOB_TOKEN": "secret"}])
def test_a_host_that_comes_too_late_is_told(tmp_path, master, count, secret):
    options = [f"--nnodes={count}", "--elastic_timeout=0.5"]
    hosts = [start(tmp_path, i, master, STAY, *options, **secret) for i in range(2)]
    for host in hosts:
        host.wait_for("there")
    late = start(tmp_path, 2, master, SHOW, *options, **secret)
    assert late.wait() == 2
    assert "has started without this host" in late.err
    hosts[0].process.send_signal(signal.SIGINT)
    assert [host.wait() for host in hosts] == [130, 130]


def wait_for_line(host, text):
    """Reads what the launcher says until a line holds `text`."""
    for line in host.process.stderr:
        if text in line:
            return
    raise AssertionError(f"the launcher never said {text!r}")


def test_a_host_that_leaves_before_the_job_begins_is_not_waited_for(tmp_path, master):
    first = start(tmp_path, 0, master, SHOW, "--nnodes=3")
    wait_for_line(first, "FLT_JOB_TOKEN is not set")
    leaver = start(tmp_path, 1, master, SHOW, "--nnodes=3")
    wait_for_line(first, "2 have joined: 127.0.0.1, 127.0.0.2")
    leaver.process.send_signal(signal.SIGINT)
    assert leaver.wait() == -signal.SIGINT
    others = [start(tmp_path, i, master, SHOW, "--nnodes=3") for i in (2, 3)]
    hosts = [first, *others]
    assert [host.wait() for host in hosts] == [0, 0, 0], [host.err for host in hosts]


def test_a_host_that_waits_says_how_many_have_come(tmp_path, master):
    first = start(tmp_path, 0, master, SHOW, "--nnodes=3")
    wait_for_line(first, "1 have joined: 127.0.0.1")
    second = start(tmp_path, 1, master, SHOW, "--nnodes=3")
    wait_for_line(first, "2 have joined: 127.0.0.1, 127.0.0.2")
    wait_for_line(second, "waiting for 3 hosts to join")
    last = start(tmp_path, 2, master, SHOW, "--nnodes=3")
    hosts = [first, second, last]
    assert [host.wait() for host in hosts] == [0, 0, 0], [host.err for host in hosts]


def test_hosts_hear_that_the_master_is_gone(tmp_path, master):
    first = start(tmp_path, 0, master, SHOW, "--nnodes=3")
    wait_for_line(first, "FLT_JOB_TOKEN is not set")
    second = start(tmp_path, 1, master, SHOW, "--nnodes=3")
    wait_for_line(first, "2 have joined")
    first.process.kill()
    assert second.wait() == 2
    assert f"the host with the address {master} was lost before the job started" in second.err


def test_launchers_of_slurm_find_each_other(tmp_path, ports):
    slurm = {
        "SLURM_JOB_ID": "42",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NODELIST": "127.0.0.[1-2]",
        "FLT_STORE_PORT": ports["FLT_STORE_PORT"],
    }
    hosts = [
        Host(tmp_path / str(i), ["--nproc_per_node=2"], SHOW, **slurm, SLURM_NODEID=str(i))
        for i in (1, 0)
    ]
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    ranks = [[e["PADDLE_TRAINER_ID"] for e in host.environments()] for host in hosts]
    assert ranks == [["2", "3"], ["0", "1"]]


def test_launchers_of_open_mpi_meet_at_the_master(tmp_path, master):
    hosts = []
    for i in (1, 0):
        mpi = {"OMPI_COMM_WORLD_RANK": str(i), "OMPI_COMM_WORLD_SIZE": "2"}
        hosts.append(start(tmp_path, i, master, SHOW, OMPI_COMM_WORLD_LOCAL_SIZE="1", **mpi))
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    assert [host.environments()[0]["PADDLE_TRAINER_ID"] for host in hosts] == ["1", "0"]


@pytest.mark.skipif(not os.environ.get("FLT_TEST_FULL"), reason="takes 10 s")
def test_who_holds_the_port_of_the_master_is_named(tmp_path, master):
    with socket.create_server(("127.0.0.1", int(master.split(":")[1]))):
        host = start(tmp_path, 0, master, SHOW, "--nnodes=2")
        assert host.wait() == 2
    assert "the port is used by " in host.err
    assert f"(pid {os.getpid()}), which is not a launcher" in host.err


def test_two_hosts_of_one_machine_have_ports_of_their_own(tmp_path, master):
    options = [f"--master={master}", "--nnodes=2", "--nproc_per_node=2"]
    hosts = [Host(tmp_path / str(i), options, SHOW) for i in range(2)]
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    environments = [e for host in hosts for e in host.environments()]
    assert sorted(e["PADDLE_TRAINER_ID"] for e in environments) == list("0123")
    assert len({e["PADDLE_CURRENT_ENDPOINT"] for e in environments}) == 4


def test_a_job_with_servers_meets_at_the_master_too(tmp_path, master):
    # Workers end when the server of every host has shown itself: its end comes soon after theirs.
    wait = """
import pathlib, time
if os.environ["TRAINING_ROLE"] == "PSERVER":
    pathlib.Path("../shown." + os.environ["POD_IP"]).touch()
while len(list(pathlib.Path("..").glob("shown.*"))) < 2:
    time.sleep(0.01)
"""
    options = ["--nnodes=2", "--server_num=1", "--worker_num=2"]
    hosts = [start(tmp_path, i, master, SHOW + wait, *options) for i in range(2)]
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    workers = [e for host in hosts for e in host.environments()]
    servers = [e for host in hosts for e in host.environments("server")]
    assert sorted(e["PADDLE_TRAINER_ID"] for e in workers) == list("0123")
    assert len({e["PADDLE_PSERVERS_IP_PORT_LIST"] for e in [*workers, *servers]}) == 1
    listed = workers[0]["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert sorted(f"{e['POD_IP']}:{e['PADDLE_PORT']}" for e in servers) == sorted(listed)
