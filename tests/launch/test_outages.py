"""Hosts that fall silent for a while, and hosts that stay silent.

Short outages under a short limit run always; those of users' networks, with FLT_TEST_FULL.
"""

import contextlib
import os
import re
import signal
import textwrap
import time

import pytest
import watched
from hosts import Host
from job import wait_for_process

FULL = bool(os.environ.get("FLT_TEST_FULL"))
full = pytest.mark.skipif(not FULL, reason="takes minutes; runs with FLT_TEST_FULL")

# Trains and adds numbers up until worker 0 finds the file "stop"; all end after the same step.
COUNT = textwrap.dedent(
    """
    import os, pathlib
    import numpy as np
    import paddle
    import _flotilla as core
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    rank, size = fleet.worker_index(), fleet.worker_num()
    x = paddle.static.data("x", [None, 8])
    loss = paddle.mean(paddle.static.nn.fc(x, 8))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    batch = np.ones([4, 8], "float32")
    total = step = stop = 0
    while not stop:
        exe.run(feed={"x": batch}, fetch_list=[loss])
        both = np.array([1 << rank, int(rank == 0 and pathlib.Path("stop").exists())], "int64")
        core.fleet.all_reduce(both, "int64", "sum", 0)
        total, stop, step = total + both[0], both[1], step + 1
        pathlib.Path(f"step.{rank}.new").write_text(str(step))
        os.replace(f"step.{rank}.new", f"step.{rank}")
    assert total == step * ((1 << size) - 1), (total, step)
    print(f"rank {rank} did {step} steps", flush=True)
    """
)


class Counting:
    """COUNT on two hosts, one worker each."""

    def __init__(self, folder, net, *options):
        self.net = net
        words = [f"--ips={','.join(net.ips)}", "--nproc_per_node=1", *options]
        self.hosts = [
            Host(
                *(folder / str(i), words, COUNT, net.inside(i)),
                FLT_JOB_TOKEN="t",
                FLT_TEST_MARK=str(folder),
            )
            for i in range(2)
        ]
        self.wait_for_steps(5)

    def step(self, rank):
        file = self.hosts[rank].folder / f"step.{rank}"
        return int(file.read_text()) if file.exists() else 0

    def wait_for_steps(self, more):
        """Waits until both have done so many more."""
        began = [self.step(rank) for rank in range(2)]

        def done():
            for host in self.hosts:
                if host.process.poll() is not None:
                    host.wait()
                    raise AssertionError(host.err + host.out)
            return all(self.step(rank) >= began[rank] + more for rank in range(2))

        watched.wait_until(done, "the job does not get on")

    def finish(self):
        self.wait_for_steps(5)
        (self.hosts[0].folder / "stop").touch()
        assert [host.wait() for host in self.hosts] == [0, 0], [host.err for host in self.hosts]
        done = [
            re.search(r"did (\d+) steps", (host.folder / "log" / "workerlog.0").read_text())
            for host in self.hosts
        ]
        assert done[0].group(1) == done[1].group(1)


@contextlib.contextmanager
def cut(net, i):
    net.cut(i)
    yield
    net.mend(i)


@contextlib.contextmanager
def paused(net, i):
    net.signal(i, signal.SIGSTOP)
    yield
    net.signal(i, signal.SIGCONT)


@contextlib.contextmanager
def asleep(net, i):
    """A virtual machine that is paused: neither its processes nor its network do anything."""
    with cut(net, i), paused(net, i):
        yield


@pytest.mark.parametrize("outage", [cut, asleep], ids=lambda f: f.__name__)
def test_a_job_gets_on_after_a_short_outage(tmp_path, network, outage):
    net = network(2)
    job = Counting(tmp_path, net, "--outage_limit=6")
    with outage(net, 1):
        time.sleep(2)
    job.finish()


def test_a_link_that_stays_cut_ends_both_sides_and_each_names_the_other(tmp_path, network):
    net = network(2)
    job = Counting(tmp_path, net, "--outage_limit=4")
    began = time.monotonic()
    net.cut(1)
    assert [host.wait() for host in job.hosts] == [1, 1], [host.err for host in job.hosts]
    assert 4 <= time.monotonic() - began < watched.room(20)
    first, second = (host.err for host in job.hosts)
    assert "nothing has been heard from host 192.168.0.2 for 4 s (--outage_limit)" in first
    assert "has not answered for 4 s (FLT_OUTAGE_LIMIT): host 192.168.0.1 is down" in second
    for text in (first, second):
        assert "failed first" not in text, "a worker that waits for another host is not to blame"


def test_the_death_of_a_launcher_is_seen_at_once(tmp_path, network):
    net = network(2)
    job = Counting(tmp_path, net, "--outage_limit=600")
    job.hosts[1].process.kill()
    began = time.monotonic()
    assert job.hosts[0].wait() == 1
    assert time.monotonic() - began < watched.room(10)
    assert "the launcher on host 192.168.0.2 is gone" in job.hosts[0].err


def test_hosts_with_different_limits_are_refused(tmp_path, network):
    net = network(2)
    hosts = []
    for i, limit in enumerate(["10", "20"]):
        words = [f"--ips={','.join(net.ips)}", f"--outage_limit={limit}"]
        hosts.append(Host(tmp_path / str(i), words, "", net.inside(i), FLT_JOB_TOKEN="t"))
    assert [host.wait() for host in hosts] == [2, 2]
    for host in hosts:
        assert "--outage_limit 10" in host.err and "--outage_limit 20" in host.err


@full
@pytest.mark.parametrize("outage", [cut, paused, asleep], ids=lambda f: f.__name__)
@pytest.mark.parametrize("host", [0, 1])
def test_twenty_seconds_are_survived(tmp_path, network, outage, host):
    net = network(2)
    job = Counting(tmp_path, net)
    with outage(net, host):
        time.sleep(20)
    job.finish()


@full
def test_a_worker_that_is_stopped_for_twenty_seconds_is_waited_for(tmp_path, network):
    net = network(2)
    job = Counting(tmp_path, net)
    worker = wait_for_process(f"FLT_TEST_MARK={tmp_path}", "FLT_ROLE=worker", "FLT_RANK=1")
    os.kill(worker, signal.SIGSTOP)
    time.sleep(20)
    os.kill(worker, signal.SIGCONT)
    job.finish()


@full
def test_a_flapping_link_is_survived(tmp_path, network):
    net = network(2)
    job = Counting(tmp_path, net)
    for down, up in [(0.2, 0.2)] * 10 + [(1, 1)] * 5 + [(6, 1)] * 3 + [(12, 3)] * 2:
        with cut(net, 1):
            time.sleep(down)
        time.sleep(up)
    job.finish()


@full
def test_ninety_seconds_are_survived_where_the_limit_says_so(tmp_path, network):
    net = network(2)
    job = Counting(tmp_path, net, "--outage_limit=120")
    with cut(net, 1):
        time.sleep(90)
    job.finish()
