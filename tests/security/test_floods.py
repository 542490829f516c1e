"""Connections that show no token, in such numbers that descriptors run out."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from regression import Disturbed

# Connects so often, and holds what it gets.
FLOOD = """
import resource, socket, sys, time
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 50, count + 50))
held = []
for _ in range(count):
    one = socket.socket()
    one.settimeout(5)
    try:
        one.connect((host, port))
    except OSError:
        pass  # the queue of the kernel is full
    held.append(one)
print("floods", flush=True)
time.sleep(1000)
"""


class Flood:
    def __init__(self, address, count):
        host, port = address.split(":")
        command = [sys.executable, "-c", FLOOD, host, port, str(count)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "floods\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def variable(pid, name):
    entries = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)[name]


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs the program prlimit")
def test_a_launcher_starts_a_server_again_during_a_flood(tmp_path):
    few = ["prlimit", "--nofile=160:160"]
    job = Disturbed(
        tmp_path, servers=1, workers=1, inside=few, STEPS="30", UNTIL="25", PAUSE="0.01"
    )
    store = variable(job.pid_of("worker", 0), "FLT_STORE")
    job.wait_for_step(5)
    with Flood(store, 400):
        assert len(list(pathlib.Path(f"/proc/{job.process.pid}/fd").iterdir())) < 160 - 30
        job.kill_processes(("server", 0))
        (tmp_path / "go").touch()
        assert job.wait() == 0, job.err
    assert "restart 1 of 3" in job.err
    assert len(job.err.split("refused a connection from 127.0.0.1")) <= 4, job.err
    job.assert_nothing_left()


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs the program prlimit")
def test_a_server_continues_during_a_flood(tmp_path):
    few = ["prlimit", "--nofile=160:160"]
    job = Disturbed(
        tmp_path, servers=1, workers=2, inside=few, STEPS="30", UNTIL="25", PAUSE="0.01"
    )
    server = variable(job.pid_of("worker", 0), "PADDLE_PSERVERS_IP_PORT_LIST")
    job.wait_for_step(5)
    with Flood(server, 400):
        job.kill_processes(("server", 0))  # the next one begins amid the flood
        (tmp_path / "go").touch()
        assert job.wait() == 0, job.err
    job.assert_nothing_left()
