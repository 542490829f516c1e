"""What the launcher knows of its processes: who does not move, and where the time went."""

import os
import re
import signal
import time

import pytest
from job import Job
from scripts import COLLECTIVE, TRAIN

FULL = bool(os.environ.get("FLT_TEST_FULL"))


def test_a_worker_that_does_not_move_ends_the_job_where_asked(tmp_path):
    job = Job(
        tmp_path,
        ["--nproc_per_node=2", "--stall_timeout=2", "--json"],
        TRAIN,
        WHO="worker 1",
        MOMENT="after",
        DEED="time.sleep(1000)",
        COUNT="2",
    )
    assert job.wait() == 124, job.err
    stuck = r"worker 1 has made no progress for \d s \(step \d+, in the script's own"
    assert re.search(stuck, job.err)
    assert "worker 0" in job.err.split("what the others were doing:")[1]
    culprit = job.result()["culprit"]
    assert culprit["rank"] == 1
    assert "has made no progress" in culprit["stuck"]
    job.assert_nothing_left()


def test_by_default_a_stuck_process_is_shown_and_the_job_goes_on(tmp_path):
    script = """
        import os, pathlib, signal, time
        me = os.environ["PADDLE_TRAINER_ID"]
        pathlib.Path("there." + me).write_text(str(os.getpid()))
        while not pathlib.Path("done").exists():
            time.sleep(0.05)
    """
    job = Job(tmp_path, ["--nproc_per_node=2", "--stall_warning=0.5"], script)
    job.wait_for("there.*", 2)
    time.sleep(0.1)
    pid = int((tmp_path / "there.1").read_text())
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(pid, signal.SIGCONT)
    (tmp_path / "done").touch()
    assert job.wait() == 0, job.err
    assert f"worker 1 (pid {pid} on 127.0.0.1) has been stopped by a signal" in job.err
    table = job.err.split("the state of all processes:")[1].splitlines()[1:3]
    assert table[0].split() == ["worker", "0", "127.0.0.1", "has", "not", "joined", "the", "job"]
    assert table[1].split() == ["worker", "1", "127.0.0.1", "stopped", "by", "a", "signal"]


def test_a_stuck_server_is_started_again(tmp_path):
    job = Job(
        tmp_path,
        ["--server_num=1", "--worker_num=1", "--max_restart=1", "--stall_timeout=1"],
        """
        import os, pathlib, signal, time
        if os.environ["TRAINING_ROLE"] == "PSERVER":
            if os.environ["FLT_ATTEMPT"] == "0":
                os.kill(os.getpid(), signal.SIGSTOP)
            pathlib.Path("second").touch()
            time.sleep(1000)
        while not pathlib.Path("second").exists():
            time.sleep(0.01)
        """,
    )
    assert job.wait() == 0, job.err
    assert "server 0 (pid " in job.err
    assert re.search(r"has been stopped by a signal for \d s; restart 1 of 1", job.err)


def test_the_run_report_says_where_the_time_went(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2", "--json"], TRAIN, STEPS="150", COUNT="2")
    assert job.wait() == 0, job.err
    report = job.result()["report"]
    assert [rank["name"] for rank in report["ranks"]] == ["worker 0", "worker 1"]
    for rank in report["ranks"]:
        assert rank["steps"] == 150
        assert rank["seconds"] >= 1
        shares = [rank[k] for k in ["compute", "input", "communication", "barrier", "other"]]
        assert sum(shares) == pytest.approx(1, abs=0.01)
        assert rank["other"] > 0.5, "it sleeps between steps"
    assert set(report["start"]) == {
        "launcher",
        "process start to import",
        "import to joining the job",
        "to the end of the first step",
    }
    assert all(0 <= seconds < 30 for seconds in report["start"].values())
    assert "% of its time between steps, in the script's own code" in report["verdict"]
    assert report["verdict"] in job.err
    assert "where the time went:\n  first step after " in job.err


def test_waiting_for_input_is_seen_and_the_verdict_names_it(tmp_path):
    script = """
        import time
        import numpy as np
        import paddle

        class Slow(paddle.io.Dataset):
            def __len__(self):
                return 100
            def __getitem__(self, i):
                time.sleep(0.02)
                return (np.ones([8], "float32"),)

        paddle.enable_static()
        x = paddle.static.data("x", [None, 8])
        loss = paddle.mean(paddle.static.nn.fc(x, 8))
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        workers = int(__import__("os").environ["WORKERS"])
        for (batch,) in paddle.io.DataLoader(
            Slow(), feed_list=[x], batch_size=4, return_list=True, num_workers=workers
        ):
            exe.run(feed={"x": batch}, fetch_list=[loss])
    """
    for workers in ["0", "1"]:
        folder = tmp_path / workers
        folder.mkdir()
        job = Job(folder, ["--nproc_per_node=1", "--json"], script, WORKERS=workers)
        assert job.wait() == 0, job.err
        report = job.result()["report"]
        assert report["ranks"][0]["steps"] == 25
        assert report["ranks"][0]["input"] > 0.5
        assert "for input: more DataLoader workers may help" in report["verdict"]
        job.assert_nothing_left()


def test_quiet_jobs_and_plain_scripts_get_no_report(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=1", "--quiet"], TRAIN, STEPS="5", COUNT="1")
    assert job.wait() == 0
    assert job.err == ""
    job = Job(tmp_path, ["--nproc_per_node=2", "--json"], "print('hi')")
    assert job.wait() == 0
    assert job.result()["report"] is None
    assert "where the time went" not in job.err


def test_the_second_start_of_a_collective_job_does_not_hear_the_end_of_the_first(tmp_path):
    script = (
        TRAIN
        + """
    import _flotilla
    print("stopped:", repr(_flotilla.fleet.stopped()))
    if os.environ["FLT_ATTEMPT"] == "0" and me == "worker 1":
        sys.exit(3)
    """
    )
    job = Job(tmp_path, ["--nproc_per_node=2", "--max_restart=1"], script, STEPS="5", COUNT="2")
    assert job.wait() == 0, job.err
    # Before it stands that its workers train models of their own, which they do.
    assert job.log("workerlog.1.1").splitlines()[-1] == "stopped: ''"


def test_a_program_that_a_worker_starts_runs_on_its_own(tmp_path):
    script = (
        TRAIN
        + """
    import subprocess
    if "INNER" not in os.environ:
        subprocess.run([sys.executable, __file__], check=True, env={**os.environ, "INNER": "1"})
        print("both are done")
    """
    )
    job = Job(tmp_path, ["--nproc_per_node=1"], script, STEPS="5", COUNT="1")
    assert job.wait() == 0, job.err
    assert job.log("workerlog.0") == "both are done\n"


def test_an_end_takes_no_time_although_processes_say_goodbye(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2", "--json"], TRAIN, STEPS="5", COUNT="2")
    assert job.wait() == 0
    processes = max(process["seconds"] for process in job.result()["processes"])
    assert job.result()["seconds"] < processes + 1


@pytest.mark.skipif(not FULL, reason="takes 15 s; runs with FLT_TEST_FULL")
def test_a_stopped_launcher_does_not_harm_the_job(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], TRAIN, STEPS="1500", COUNT="2")
    job.wait_for("there.*", 2)
    job.kill(signal.SIGSTOP)
    time.sleep(12)
    job.kill(signal.SIGCONT)
    assert job.wait() == 0, job.err


@pytest.mark.parametrize(
    "deed, code, words",
    [
        ("os.kill(os.getpid(), 9)", 137, "failed first"),
        ("raise ValueError('bad batch')", 1, "failed first"),
        ("os.kill(os.getpid(), signal.SIGSTOP)", 124, "has been stopped by a signal"),
        ("time.sleep(1000)", 124, "has made no progress"),
    ],
)
def test_those_who_wait_for_the_culprit_are_not_blamed(tmp_path, deed, code, words):
    options = ["--nproc_per_node=3", "--stall_timeout=2", "--json"]
    job = Job(tmp_path, options, COLLECTIVE, WHO="1", DEED=deed)
    assert job.wait() == code, job.err
    assert f"worker 1 {words}" in job.err
    assert job.result()["culprit"]["rank"] == 1
    table = job.err.split("what the others were doing:")[1]
    for rank in (0, 2):
        row = next(line for line in table.splitlines() if f"worker {rank} " in line)
        assert "step 200" in row
        assert "script's own code" not in row, "it waits for worker 1"
    job.assert_nothing_left()


def test_the_report_of_a_collective_job_shows_who_waits_for_whom(tmp_path):
    script = COLLECTIVE.replace('os.environ.get("PAUSE", "0.001")', "PAUSE").replace(
        "import numpy",
        'PAUSE = 0.02 if os.environ["PADDLE_TRAINER_ID"] == "1" else 0\n    import numpy',
    )
    job = Job(tmp_path, ["--nproc_per_node=2", "--json"], script)
    assert job.wait() == 0, job.err
    report = job.result()["report"]
    fast, slow = report["ranks"]
    assert fast["communication"] + fast["barrier"] > 0.5
    assert slow["other"] > 0.5
    assert "of its time waiting for others, but worker 1" in report["verdict"]
    assert "worker 1 is slower than the others" in report["verdict"]


def test_nobody_is_blamed_where_all_wait_for_each_other(tmp_path):
    script = """
        import os
        import numpy as np
        import paddle
        paddle.enable_static()
        paddle.distributed.init_parallel_env()
        array = np.zeros([4], "float32")
        paddle.distributed.recv(array, src=1 - int(os.environ["PADDLE_TRAINER_ID"]))
    """
    job = Job(tmp_path, ["--nproc_per_node=2", "--stall_timeout=2", "--json"], script)
    assert job.wait() == 124, job.err
    assert "no progress for 2 s: all workers wait for each other" in job.err
    assert job.result()["culprit"] is None
    job.assert_nothing_left()
