"""Ctrl-C while a process waits for others, for servers or for batches."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import watched
from hosts import FLOTILLA, Host, free_port
from job import Job

BEGIN = """
import pathlib, sys, time
import numpy as np
import paddle
from paddle.distributed import fleet

paddle.enable_static()
here = lambda: pathlib.Path(f"here.{fleet.worker_index()}").touch()
"""

# Worker 0 waits inside of exe.run for worker 1, which does not run the step.
STEP = (
    BEGIN
    + """
fleet.init(is_collective=True)
x = paddle.static.data("x", [None, 8])
loss = paddle.mean(paddle.static.nn.fc(x, 8))
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01)).minimize(loss)
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
batch = np.ones([4, 8], "float32")
exe.run(feed={"x": batch}, fetch_list=[loss])
here()
if fleet.worker_index() == 1:
    time.sleep(1000)
while True:
    exe.run(feed={"x": batch}, fetch_list=[loss])
"""
)

BARRIER = (
    BEGIN
    + """
fleet.init(is_collective=True)
here()
fleet.barrier_worker() if fleet.worker_index() == 0 else time.sleep(1000)
"""
)

# Worker 0 is alone.
START = (
    BEGIN
    + """
pathlib.Path("here.0").touch()
fleet.init(is_collective=True)
"""
)

READ = (
    BEGIN
    + """
x = paddle.static.data("x", [None, 8])
total = paddle.sum(x)
loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=2, iterable=ITERABLE)

def batches():
    yield [np.ones([4, 8], "float32")]
    pathlib.Path("here.0").touch()
    time.sleep(1000)

loader.set_batch_generator(batches, places=[paddle.CPUPlace()])
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
if ITERABLE:
    for batch in loader:
        exe.run(feed=batch, fetch_list=[total])
loader.start()
while True:
    exe.run(fetch_list=[total])
"""
)


# When KeyboardInterrupt comes, by the clock of the machine, which all processes read alike. Where a
# launcher's word and its signal both come, the second may interrupt the note of the first.
NOTES = """
import os, pathlib, time

def note():
    pathlib.Path(f"raised.{os.getpid()}").write_text(str(time.monotonic()))

try:
    SCRIPT
except KeyboardInterrupt:
    try:
        note()
    except KeyboardInterrupt:
        note()
    raise
"""


def noting(script):
    """The same script; it notes when KeyboardInterrupt comes."""
    return NOTES.replace("    SCRIPT\n", textwrap.indent(script, "    "))


def assert_raised_soon(folder, pid, pressed):
    """Ctrl-C ends whatever is waited for within a second."""
    note = folder / f"raised.{pid}"
    assert note.exists(), "no KeyboardInterrupt came"
    assert float(note.read_text()) - pressed < watched.room(1)


class Process:
    """Rank `rank` of a job of two that is started by hand, or a process of its own."""

    started = []

    def __init__(self, folder, script, rank=None, port=None, **environment):
        if not (folder / "script.py").exists():  # others may be reading it
            (folder / "script.py").write_text(noting(script))
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
        if rank is not None:
            endpoints = f"127.0.0.1:{port},127.0.0.1:{int(port) + 1}"
            clean.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINER_ENDPOINTS=endpoints)
        clean.update(environment)
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=folder,
            env={**clean, "FLT_JOB_TOKEN": "t"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        Process.started.append(self.process)

    def wait_for(self, name):
        def there():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[0])
            return (self.folder / name).exists()

        watched.wait_until(there, f"{name} did not come")

    def interrupt(self):
        """What it printed, and how long it took to end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        text = watched.communicate(self.process)[0]
        seconds = time.monotonic() - began
        assert_raised_soon(self.folder, self.process.pid, began)
        return text, seconds


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    for process in Process.started:
        process.kill()
        process.wait()
    Process.started.clear()


def assert_clean(process, text, seconds):
    assert process.process.returncode == -signal.SIGINT, text
    # the wait and the end of the interpreter, which a busy machine delays
    assert seconds < watched.room(3), text
    assert "KeyboardInterrupt" in text.splitlines(), text
    assert text.count("Traceback") == 1, text
    for ours in (f"{os.sep}paddle{os.sep}", "RuntimeError", "lost sys.stderr", "object address"):
        assert ours not in text, text


@pytest.mark.parametrize("script", [STEP, BARRIER], ids=["step", "barrier"])
def test_a_wait_for_another_worker_ends(tmp_path, script):
    port = free_port("127.0.0.1")
    ranks = [Process(tmp_path, script, rank, port) for rank in range(2)]
    for rank in range(2):
        ranks[rank].wait_for(f"here.{rank}")
    time.sleep(0.5)  # by then it waits
    assert_clean(ranks[0], *ranks[0].interrupt())


@pytest.mark.parametrize("rank", [0, 1])
def test_the_wait_for_the_start_of_the_job_ends_and_says_for_whom(tmp_path, rank):
    alone = Process(tmp_path, START, rank, free_port("127.0.0.1"))
    alone.wait_for("here.0")
    time.sleep(3)  # the first reminder comes after two
    text, seconds = alone.interrupt()
    assert_clean(alone, text, seconds)
    if rank == 0:
        assert "waiting for worker 1: 1 of 2 processes of the job have joined; " in text
    else:
        assert "waiting for the first process of the job at 127.0.0.1" in text


@pytest.mark.parametrize("iterable", [True, False], ids=["loader", "inside of exe.run"])
def test_a_wait_for_a_batch_ends(tmp_path, iterable):
    alone = Process(tmp_path, READ.replace("ITERABLE", str(iterable)))
    alone.wait_for("here.0")
    time.sleep(0.5)
    assert_clean(alone, *alone.interrupt())


# Worker 0 of two waits for worker 1 in a synchronous step.
SERVED = textwrap.dedent(
    """
    fleet.init()
    x = paddle.static.data("x", [None, 8])
    loss = paddle.mean(paddle.static.nn.fc(x, 8))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        here()
        if fleet.worker_index() == 1:
            time.sleep(1000)
        while True:
            here()
            exe.run(feed={"x": np.ones([4, 8], "float32")}, fetch_list=[loss])
    """
)


@pytest.mark.parametrize(
    "options, script",
    [
        (["--nproc_per_node=2"], STEP),
        (["--worker_num=2", "--server_num=1"], BEGIN + SERVED),
    ],
    ids=["collective", "servers"],
)
def test_a_launched_job_ends_without_a_traceback(tmp_path, options, script):
    job = Job(tmp_path, ["--tee", *options], noting(script))
    job.wait_for("here.*", 2)
    time.sleep(0.5)
    assert_ends_clean(job, workers=2)


def assert_ends_clean(job, workers):
    pids = [job.pid_of("worker", rank) for rank in range(workers)]
    began = time.monotonic()
    job.process.send_signal(signal.SIGINT)
    assert job.wait() == 130, job.err
    assert time.monotonic() - began < watched.room(4)
    for pid in pids:
        assert_raised_soon(job.folder, pid, began)
    text = job.out + job.err
    for noise in ("Traceback", "RuntimeError", "lost sys.stderr", "object address"):
        assert noise not in text, text


# A server that is started again does not come back.
AWAY = textwrap.dedent(
    """
    import os, signal
    if os.environ.get("FLT_ROLE") == "server" and os.environ.get("FLT_ATTEMPT", "0") != "0":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        pathlib.Path("away").touch()
        time.sleep(1000)
    """
)


def test_a_worker_whose_server_is_gone_ends(tmp_path):
    script = BEGIN + AWAY + SERVED
    options = ["--tee", "--worker_num=1", "--server_num=2", "--max_restart=1"]
    job = Job(tmp_path, options, noting(script))
    job.wait_for("here.0")
    job.kill_processes(("server", 1))
    job.wait_for("away")
    time.sleep(1)  # by then it waits for an answer to its next call
    assert_ends_clean(job, workers=1)


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_worker_whose_server_says_nothing_ends(tmp_path, stopped):
    port = int(free_port("127.0.0.1"))
    script = BEGIN + SERVED

    def start(**environment):
        return Process(
            tmp_path,
            script,
            PADDLE_PSERVERS_IP_PORT_LIST=f"127.0.0.1:{port},127.0.0.1:{port + 1}",
            PADDLE_TRAINERS_NUM="1",
            POD_IP="127.0.0.1",
            **environment,
        )

    servers = [start(TRAINING_ROLE="PSERVER", PADDLE_PORT=str(port + i)) for i in range(2)]
    worker = start(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0")
    worker.wait_for("here.0")
    time.sleep(0.5)
    servers[stopped].process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    assert time.time() - (tmp_path / "here.0").stat().st_mtime > 0.5, "it does not wait"
    assert_clean(worker, *worker.interrupt())


# A name server that does not answer: getaddrinfo() cannot be interrupted.
SILENT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char* host, const char* port, const struct addrinfo* hints,
                struct addrinfo** found) {
  int number = hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (host != NULL && strstr(host, "silent") != NULL && !number) sleep(1000);
  int (*ask)(const char*, const char*, const struct addrinfo*, struct addrinfo**) =
      dlsym(RTLD_NEXT, "getaddrinfo");
  return ask(host, port, hints, found);
}
"""


@pytest.fixture(scope="module")
def silent_resolver(tmp_path_factory):
    """Variables with which names that have "silent" in them are looked up for ever."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no compiler for a resolver of its own")
    folder = tmp_path_factory.mktemp("resolver")
    (folder / "silent.c").write_text(SILENT)
    command = [compiler, "-shared", "-fPIC", "-o", "silent.so", "silent.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return {"LD_PRELOAD": str(folder / "silent.so")}


@pytest.mark.parametrize("rank", [0, 1])
def test_a_wait_for_the_name_of_a_host_ends_and_says_which(tmp_path, silent_resolver, rank):
    port = free_port("127.0.0.1")
    alone = Process(
        tmp_path,
        START,
        PADDLE_TRAINER_ID=str(rank),
        PADDLE_TRAINER_ENDPOINTS=f"127.0.0.1:{port},silent-2:{port}",
        **silent_resolver,
    )
    alone.wait_for("here.0")
    time.sleep(3)  # the first reminder comes after two
    text, seconds = alone.interrupt()
    assert_clean(alone, text, seconds)
    assert 'waiting for the host name "silent-2" to resolve' in text


def test_a_wait_for_a_store_whose_name_is_not_resolved_ends(tmp_path, silent_resolver):
    alone = Process(tmp_path, START, FLT_STORE="silent-1:6070", **silent_resolver)
    alone.wait_for("here.0")
    time.sleep(2)  # after one, the name is looked up
    assert_clean(alone, *alone.interrupt())


def test_a_server_that_waits_for_a_name_is_asked_to_end(tmp_path, silent_resolver):
    servers = f"--servers=127.0.0.1:{free_port('127.0.0.1')},silent-2:6174"
    server = Host(tmp_path / "0", ["serve", servers], program=[FLOTILLA], **silent_resolver)
    time.sleep(1)
    began = time.monotonic()
    server.process.send_signal(signal.SIGINT)
    assert server.wait() == 1
    assert time.monotonic() - began < watched.room(1)
    assert "server 0 was asked to stop (Interrupt) before it joined the job" in server.err


@pytest.mark.parametrize("first", [True, False])
def test_a_launcher_that_waits_for_a_name_ends(tmp_path, ports, silent_resolver, first):
    """Five seconds after the beginning it looks for the names of those that are missing."""
    listed = ["127.0.0.1", "silent-2"] if first else ["silent-2", "127.0.0.1"]
    options = [f"--ips={','.join(listed)}", "--host=127.0.0.1", "--nproc_per_node=1"]
    host = Host(tmp_path / "0", options, "", **silent_resolver, **ports)
    time.sleep(7)
    began = time.monotonic()
    host.process.send_signal(signal.SIGINT)
    assert host.wait() == 130, host.err
    assert time.monotonic() - began < watched.room(2), host.err
