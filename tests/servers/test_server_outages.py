"""Jobs with servers on two hosts whose link is cut for a while: no push is lost, none counts twice."""

import os
import signal
import time

import numpy as np
import pytest
import watched
from regression import Disturbed
from test_server_network import TwoHosts

FULL = bool(os.environ.get("FLT_TEST_FULL"))
full = pytest.mark.skipif(not FULL, reason="takes minutes; runs with FLT_TEST_FULL")
STEPS = 60


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    job = Disturbed(tmp_path_factory.mktemp("calm"), STEPS=str(STEPS))
    assert job.wait() == 0, job.err
    return job.done()["moments"]


class Cut(TwoHosts):
    def __init__(self, folder, net, **settings):
        super().__init__(folder, net, net.ips, net.ips, STEPS=str(STEPS), PAUSE="0.02", **settings)

    def wait_for_step(self, step, host=0):
        mark = self.hosts[host].folder / f"step.{host}"
        patience = watched.Patience()
        while not mark.exists() or int(mark.read_text()) < step:
            assert self.hosts[host].process.poll() is None, self.hosts[host].wait()
            assert not patience.over(), f"step {step} was not reached"
            time.sleep(0.002)


def test_a_cut_in_the_middle_of_a_job_changes_nothing(tmp_path, calm, network):
    net = network(2)
    job = Cut(tmp_path, net, FLT_OUTAGE_LIMIT="8")
    for step in (10, 30):
        job.wait_for_step(step)
        net.cut(1)
        time.sleep(1.5)
        net.mend(1)
    job.wait()
    np.testing.assert_array_equal(job.moments(0), calm)


@full
@pytest.mark.parametrize("host", [0, 1])
@pytest.mark.parametrize("how", ["cut", "paused"])
def test_twenty_seconds_change_nothing(tmp_path, calm, network, host, how):
    net = network(2)
    job = Cut(tmp_path, net)
    job.wait_for_step(20)
    if how == "cut":
        net.cut(host)
        time.sleep(20)
        net.mend(host)
    else:
        net.signal(host, signal.SIGSTOP)
        time.sleep(20)
        net.signal(host, signal.SIGCONT)
    job.wait()
    np.testing.assert_array_equal(job.moments(0), calm)
