"""Launchers that stand for hosts: on addresses of the loopback network, or in network namespaces where
the kernel lets us have them."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest
import watched
from job import FLEETRUN

FLOTILLA = str(pathlib.Path(FLEETRUN).with_name("flotilla"))

SHOW = """
import json, os
print(json.dumps(dict(os.environ)), flush=True)
"""

# Says that it is there, and stays.
STAY = """
import pathlib, time
pathlib.Path("there").touch()
time.sleep(1000)
"""


def free_port(*addresses):
    """A port that is free on all addresses."""
    while True:
        with socket.socket() as first:
            first.bind((addresses[0], 0))
            port = first.getsockname()[1]
            try:
                for address in addresses[1:]:
                    with socket.socket() as other:
                        other.bind((address, port))
            except OSError:
                continue
        return str(port)


class Host:
    """The launcher of one host, or another program of ours."""

    started = []

    def __init__(self, folder, options, script=None, inside=(), program=(FLEETRUN,), **environment):
        folder.mkdir()
        if script is not None:
            (folder / "script.py").write_text(script)
            options = [*options, "script.py"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
        self.folder = folder
        self.process = subprocess.Popen(
            [*inside, *program, *options],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**kept, "FLT_PYTHON": sys.executable, **environment},
        )

        Host.started.append(self.process)

    def wait(self):
        self.out, self.err = watched.communicate(self.process)
        return self.process.returncode

    def environments(self, role="worker"):
        logs = sorted(pathlib.Path(self.folder, "log").glob(f"{role}log.*"))
        return [json.loads(log.read_text()) for log in logs]

    def wait_for(self, name):
        def there():
            assert self.process.poll() is None, f"it ended before there was {name}"
            return (self.folder / name).exists()

        watched.wait_until(there, f"{name} did not come")


class Network:
    """Network namespaces on one bridge: host i has the address 192.168.0.(i + 1)."""

    def __init__(self, count):
        if os.geteuid() != 0 or shutil.which("ip") is None:
            pytest.skip("network namespaces need root and the program ip")
        self.tag = f"flt{os.getpid() % 10000}"
        made = subprocess.run(
            ["ip", "link", "add", self.tag, "type", "bridge"], capture_output=True
        )
        if made.returncode != 0:
            pytest.skip("this kernel lets us have no bridge: " + made.stderr.decode().strip())
        self.count = count
        self.ips = [f"192.168.0.{i + 1}" for i in range(count)]
        try:
            self.ip("link", "set", self.tag, "up")
            for i in range(count):
                self.add_host(i)
        except BaseException:
            self.close()
            raise

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def add_host(self, i):
        name = f"{self.tag}n{i}"
        self.ip("netns", "add", name)
        self.ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
        self.ip("link", "set", f"{name}a", "master", self.tag, "up")
        self.ip("link", "set", f"{name}b", "netns", name)
        self.ip("-n", name, "addr", "add", f"{self.ips[i]}/24", "dev", f"{name}b")
        self.ip("-n", name, "link", "set", f"{name}b", "up")
        self.ip("-n", name, "link", "set", "lo", "up")

    def give_names(self, names):
        """Every host finds host i under the name names[i], by a file /etc/hosts of its own.
        Those behind the last name have none, until they are given one."""
        text = "127.0.0.1 localhost\n"
        text += "".join(f"{ip} {name}\n" for ip, name in zip(self.ips, names))
        for i in range(self.count):
            folder = pathlib.Path("/etc/netns", f"{self.tag}n{i}")
            folder.mkdir(parents=True, exist_ok=True)
            folder.joinpath("hosts").write_text(text)  # hosts that are there see it, too

    def inside(self, i):
        """Words before a command that runs on host i."""
        return ["ip", "netns", "exec", f"{self.tag}n{i}"]

    def cut(self, i):
        """Pulls the cable of host i."""
        self.ip("link", "set", f"{self.tag}n{i}a", "down")

    def mend(self, i):
        """Plugs it in again."""
        self.ip("link", "set", f"{self.tag}n{i}a", "up")

    def signal(self, i, number):
        """Sends a signal to every process of host i."""
        found = subprocess.run(
            ["ip", "netns", "pids", f"{self.tag}n{i}"], capture_output=True, text=True, check=True
        )
        for pid in found.stdout.split():
            os.kill(int(pid), number)

    def refuse_way(self, i, j, port):
        """What host j answers to connections of host i on its port is lost; the other way works."""
        rule = ["to", self.ips[i], "ipproto", "6", "sport", str(port), "blackhole"]
        self.ip("-n", f"{self.tag}n{j}", "rule", "add", *rule, "prio", "10")

    def close(self):
        for i in range(self.count):
            subprocess.run(["ip", "netns", "del", f"{self.tag}n{i}"], capture_output=True)
            subprocess.run(["ip", "link", "del", f"{self.tag}n{i}a"], capture_output=True)
            shutil.rmtree(f"/etc/netns/{self.tag}n{i}", ignore_errors=True)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True)


@pytest.fixture(autouse=True)
def no_host_is_left():
    """A launcher that a failed test leaves behind would hold the next one's ports."""
    yield
    for process in Host.started:
        if process.poll() is None:
            process.kill()
            process.wait()
    Host.started.clear()


@pytest.fixture
def network():
    """Makes a network of so many hosts."""
    made = []

    def make(count):
        made.append(Network(count))
        return made[-1]

    yield make
    for each in made:
        each.close()
