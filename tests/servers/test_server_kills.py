"""Processes of jobs with servers that are killed or stopped at random moments."""

import os
import random
import signal
import time

import numpy as np
import pytest
from regression import Disturbed

FULL = bool(os.environ.get("FLT_TEST_FULL"))
STEPS = 60
# Workers wait for a file before the last step: nobody comes too late to disturb them.
HELD = {"STEPS": str(STEPS), "UNTIL": str(STEPS - 1), "PAUSE": "0.005"}


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What the workers of a job find to which nothing happens."""
    job = Disturbed(tmp_path_factory.mktemp("calm"), STEPS=str(STEPS))
    assert job.wait() == 0, job.err
    return [job.done(worker) for worker in range(2)]


def go_on(job):
    (job.folder / "go").touch()
    return job.wait()


def assert_same(job, calm):
    for worker, expected in enumerate(calm):
        found = job.done(worker)
        for name in ("losses", "moments"):
            np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("seed", range(15 if FULL else 1))
def test_killed_servers_change_nothing(tmp_path, calm, seed):
    """Two kills in each job: the same bits after every step."""
    draw = random.Random(seed)
    job = Disturbed(tmp_path, **HELD)
    for step in sorted(draw.sample(range(STEPS - 5), 2)):
        job.wait_for_step(step)
        time.sleep(draw.uniform(0, 0.02))
        job.kill_processes(("server", draw.randrange(2)))
    assert go_on(job) == 0, job.err
    assert "restart 2 of 3" in job.err
    assert_same(job, calm)
    job.assert_nothing_left()


@pytest.mark.parametrize("seed", range(10 if FULL else 1))
def test_servers_that_are_killed_while_they_start_change_nothing(tmp_path, calm, seed):
    draw = random.Random(seed)
    job = Disturbed(tmp_path, **HELD)
    for _ in range(2):
        server = ("server", draw.randrange(2))
        job.pid_of(*server)
        time.sleep(draw.uniform(0, 0.6))
        job.kill_processes(server)
    assert go_on(job) == 0, job.err
    assert_same(job, calm)


def test_all_servers_killed_at_once_change_nothing(tmp_path, calm):
    job = Disturbed(tmp_path, **HELD)
    job.wait_for_step(STEPS // 2)
    job.kill_processes(("server", 0), ("server", 1))
    assert go_on(job) == 0, job.err
    assert_same(job, calm)


def test_a_server_that_is_stopped_for_a_while_is_waited_for(tmp_path, calm):
    job = Disturbed(tmp_path, **HELD)
    job.wait_for_step(20)
    server = job.pid_of("server", 1)
    os.kill(server, signal.SIGSTOP)
    time.sleep(5 if FULL else 1)
    os.kill(server, signal.SIGCONT)
    assert go_on(job) == 0, job.err
    assert "restart" not in job.err
    assert_same(job, calm)


def kill_worker(tmp_path, options=(), server=False):
    """Kills worker 1 in the middle, with a server at the same time or without."""
    job = Disturbed(tmp_path, options=options, **HELD)
    job.wait_for_step(20)
    job.kill_processes(("worker", 1), *([("server", 0)] if server else []))
    return job


@pytest.mark.parametrize("server", [False, True], ids=["alone", "with a server"])
def test_a_killed_worker_ends_the_job(tmp_path, server):
    job = kill_worker(tmp_path, server=server)
    assert job.wait() == 137
    assert "worker 1 failed first" in job.err
    assert (tmp_path / "step.0").read_text() != str(STEPS)
    job.assert_nothing_left()


@pytest.mark.parametrize("server", [False, True], ids=["alone", "with a server"])
def test_the_others_go_on_without_a_killed_worker(tmp_path, calm, server):
    job = kill_worker(tmp_path, ["--worker_failure=continue"], server)
    assert go_on(job) == 137
    assert "worker 1 failed first" in job.err and "the others continue" in job.err
    assert ("server 0 " in job.err and "restart 1 of 3" in job.err) == server
    losses = job.done()["losses"]
    assert len(losses) == STEPS
    # Up to the kill the same as with both.
    np.testing.assert_array_equal(losses[:20], calm[0]["losses"][:20])
    assert np.mean(losses[-9:]) < 0.5 * np.mean(losses[:9])
    job.assert_nothing_left()


def test_a_worker_and_a_server_that_are_started_again_take_part(tmp_path):
    job = kill_worker(tmp_path, ["--max_restart=2"], server=True)
    assert go_on(job) == 0, job.err
    assert [(tmp_path / f"step.{worker}").read_text() for worker in range(2)] == [str(STEPS)] * 2
    assert "restart 2 of 2" in job.err
    job.assert_nothing_left()
