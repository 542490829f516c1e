"""Every role × every fault × every moment: the right culprit, the right exit code, nothing left.

The processes are real ones: they import paddle, join the job and run steps. Without FLT_TEST_FULL a
seeded sample runs, which has each role, fault and moment at least once.
"""

import os
import random
import signal
import time

import pytest
from job import Job
from scripts import TRAIN

FULL = bool(os.environ.get("FLT_TEST_FULL"))

ROLES = ["server 0", "worker 1", "heter_worker 0"]
FAULTS = {
    "kill": ("os.kill(os.getpid(), 9)", 137, "killed by signal 9"),
    "stop": ("os.kill(os.getpid(), signal.SIGSTOP)", 124, "has been stopped by a signal for"),
    "exception": ("raise ValueError('bad batch')", 1, "raised  ValueError: bad batch"),
    "exit 3": ("sys.exit(3)", 3, "exit code 3"),
    "segfault": ("import ctypes; ctypes.string_at(0)", 139, "killed by signal 11"),
}
MOMENTS = ["before", "during", "after"]


def cases():
    every = [(r, f, m) for r in ROLES for f in FAULTS for m in MOMENTS]
    if FULL:
        return every
    random.seed(5)
    random.shuffle(every)
    chosen, seen = [], set()
    for case in every:
        if not seen.issuperset(case):
            chosen.append(case)
            seen.update(case)
    return chosen


@pytest.mark.parametrize("who, fault, moment", cases())
def test_a_fault_ends_the_job(tmp_path, who, fault, moment):
    code, exit_code, words = FAULTS[fault]
    job = Job(
        tmp_path,
        ["--server_num=1", "--worker_num=2", "--heter_worker_num=1", "--json", "--stall_timeout=2"],
        TRAIN,
        WHO=who,
        MOMENT=moment,
        DEED=code,
        COUNT="4",
    )
    assert job.wait() == exit_code, job.err
    how = "has been stopped" if fault == "stop" else "failed first"
    assert f"{who} {how}" in job.err
    assert words in job.err
    assert "about to go wrong" in job.err, "the end of its output is shown"
    role, rank = who.split()
    culprit = job.result()["culprit"]
    assert (culprit["role"], culprit["rank"]) == (role, int(rank))
    log = {"server": "serverlog.0", "worker": "workerlog.1", "heter_worker": "heterlog.0"}[role]
    assert "about to go wrong" in job.log(log)
    if moment == "after":
        table = job.err.split("what the others were doing:")[1]
        others = {"server 0", "worker 0", "worker 1", "heter_worker 0"} - {who}
        for other in others:
            assert other in table
        assert "step " in table
    job.assert_nothing_left()


def test_a_launcher_killed_at_any_moment_leaves_nothing(tmp_path):
    random.seed(11)
    for attempt in range(20 if FULL else 4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        job = Job(folder, ["--server_num=1", "--worker_num=2"], TRAIN, COUNT="3")
        time.sleep(random.uniform(0, 1.5))
        job.kill(signal.SIGKILL)
        job.process.wait()
        job.process.stdout.close()
        job.process.stderr.close()
        job.assert_nothing_left()


def test_interrupts_while_processes_train_leave_nothing(tmp_path):
    random.seed(13)
    for attempt in range(50 if FULL else 4):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        job = Job(folder, ["--nproc_per_node=2"], TRAIN, COUNT="2")
        time.sleep(random.uniform(0, 2.0))
        job.kill(signal.SIGINT)
        # Before it has taken the signal over, the launcher ends as any program does.
        assert job.wait() in (130, -signal.SIGINT), job.err
        job.assert_nothing_left()
