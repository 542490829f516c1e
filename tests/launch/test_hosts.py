"""Jobs on several hosts: addresses of the loopback network, and network namespaces where the
kernel lets us have them."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from job import FLEETRUN, LIMIT

SHOW = """
import json, os
print(json.dumps(dict(os.environ)))
"""


class Host:
    """The launcher of one host."""

    def __init__(self, folder, options, script, inside=(), **environment):
        folder.mkdir()
        (folder / "script.py").write_text(script)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
        self.folder = folder
        self.process = subprocess.Popen(
            [*inside, FLEETRUN, *options, "script.py"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**kept, "FLT_PYTHON": sys.executable, **environment},
        )

    def wait(self):
        self.out, self.err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode

    def environments(self, role="worker"):
        logs = sorted(pathlib.Path(self.folder, "log").glob(f"{role}log.*"))
        return [json.loads(log.read_text()) for log in logs]

    def wait_for(self, name):
        deadline = time.monotonic() + LIMIT
        while not (self.folder / name).exists():
            assert time.monotonic() < deadline and self.process.poll() is None
            time.sleep(0.01)


@pytest.fixture
def ports():
    """Ports for the store and the processes that other tests do not use."""
    base = random.Random(os.getpid()).randrange(20000, 30000, 16)
    return {"FLT_STORE_PORT": str(base), "FLAGS_START_PORT": str(base + 1), "FLT_JOB_TOKEN": "t"}


def start(tmp_path, ips, script, ports, order=None, each=2, lists=None):
    hosts = {}
    for i in order or range(len(ips)):
        listed = ",".join(lists[i] if lists else ips)
        options = [f"--ips={listed}", f"--host={ips[i]}", f"--nproc_per_node={each}"]
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


@pytest.mark.parametrize("victim", [0, 1])
def test_a_launcher_that_is_killed_ends_the_others(tmp_path, ports, victim):
    script = "import pathlib, time\npathlib.Path('there').touch()\ntime.sleep(1000)\n"
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], script, ports, each=1)
    for host in hosts:
        host.wait_for("there")
    hosts[victim].process.send_signal(signal.SIGKILL)
    other = hosts[1 - victim]
    assert other.wait() == 1
    assert ("lost" if victim == 0 else "the launcher on host 127.0.0.2 is gone") in other.err


def test_ctrl_c_on_one_host_ends_all(tmp_path, ports):
    script = "import pathlib, time\npathlib.Path('there').touch()\ntime.sleep(1000)\n"
    hosts = start(tmp_path, ["127.0.0.1", "127.0.0.2"], script, ports, each=1)
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
    assert "means another job" in hosts[0].err + hosts[1].err


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


def namespaces(count):
    """Commands that run inside of `count` network namespaces on one bridge, or a reason why not."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the program ip")
    tag = f"flt{os.getpid() % 10000}"
    made = subprocess.run(["ip", "link", "add", tag, "type", "bridge"], capture_output=True)
    if made.returncode != 0:
        pytest.skip("this kernel lets us have no bridge: " + made.stderr.decode().strip())

    def run(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    run("link", "set", tag, "up")
    for i in range(count):
        name = f"{tag}n{i}"
        run("netns", "add", name)
        run("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
        run("link", "set", f"{name}a", "master", tag, "up")
        run("link", "set", f"{name}b", "netns", name)
        run("-n", name, "addr", "add", f"192.168.0.{i + 1}/24", "dev", f"{name}b")
        run("-n", name, "link", "set", f"{name}b", "up")
        run("-n", name, "link", "set", "lo", "up")
    return tag


@pytest.fixture
def two_namespaces():
    tag = namespaces(2)
    yield tag
    for i in range(2):
        subprocess.run(["ip", "netns", "del", f"{tag}n{i}"], capture_output=True)
        subprocess.run(["ip", "link", "del", f"{tag}n{i}a"], capture_output=True)
    subprocess.run(["ip", "link", "del", tag], capture_output=True)


def test_two_hosts_of_the_fourth_document_find_themselves(tmp_path, two_namespaces):
    hosts = []
    for i in (1, 0):
        options = ["--selected_gpus=0,1", "--cluster_node_ips=192.168.0.1,192.168.0.2"]
        inside = ["ip", "netns", "exec", f"{two_namespaces}n{i}"]
        hosts.insert(0, Host(tmp_path / str(i), options, SHOW, inside))
    assert [host.wait() for host in hosts] == [0, 0], [host.err for host in hosts]
    assert [e["PADDLE_TRAINER_ID"] for host in hosts for e in host.environments()] == list("0123")
    assert hosts[0].environments()[0]["PADDLE_CURRENT_ENDPOINT"] == "192.168.0.1:6070"
