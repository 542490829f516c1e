"""Jobs that go wrong: the culprit is named, its exit code returned, and nothing is left."""

import os
import pathlib
import random
import signal
import time

import pytest
import watched
from job import Job

FULL = bool(os.environ.get("FLT_TEST_FULL"))

# Every process starts a child of its own, says that it is there and waits; rank 1 does `deed`.
WAIT = """
    import os, signal, subprocess, sys, time, pathlib
    role = os.environ.get("TRAINING_ROLE", "TRAINER")
    me = "server" if role == "PSERVER" else os.environ["PADDLE_TRAINER_ID"]
    subprocess.Popen(["sleep", "1000"])
    if me == os.environ.get("WHO"):
        pathlib.Path("there." + me).touch()
        while len(list(pathlib.Path().glob("there.*"))) < int(os.environ["COUNT"]):
            time.sleep(0.01)
        print("about to go wrong", flush=True)
        exec(os.environ["DEED"])
    pathlib.Path("there." + me).touch()
    time.sleep(1000)
"""

DEEDS = {
    "exit 3": ("sys.exit(3)", 3, "exit code 3"),
    "exception": ("raise ValueError('bad batch')", 1, "raised  ValueError: bad batch"),
    "kill": ("os.kill(os.getpid(), 9)", 137, "killed by signal 9"),
    "segfault": ("os.kill(os.getpid(), 11)", 139, "killed by signal 11"),
    "abort": ("os.abort()", 134, "killed by signal 6"),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_the_culprit_is_named_and_the_others_end(tmp_path, deed):
    code, exit_code, words = DEEDS[deed]
    job = Job(tmp_path, ["--nproc_per_node=3", "--json"], WAIT, WHO="1", COUNT="3", DEED=code)
    assert job.wait() == exit_code
    assert "worker 1 failed first" in job.err
    assert words in job.err
    assert "about to go wrong" in job.err
    assert "log/workerlog.1" in job.err
    culprit = job.result()["culprit"]
    assert (culprit["role"], culprit["rank"]) == ("worker", 1)
    job.assert_nothing_left()


@pytest.mark.parametrize("who, name", [("server", "server 0"), ("1", "worker 1")])
def test_a_dead_process_ends_a_job_with_servers(tmp_path, who, name):
    job = Job(
        tmp_path,
        ["--server_num=1", "--worker_num=2"],
        WAIT,
        WHO=who,
        COUNT="3",
        DEED="os.kill(os.getpid(), 9)",
    )
    assert job.wait() == 137
    assert f"{name} failed first" in job.err
    job.assert_nothing_left()


def test_survivors_that_ignore_signals_are_killed_within_two_seconds(tmp_path):
    script = """
        import os, signal, time, pathlib
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path("there." + os.environ["PADDLE_TRAINER_ID"]).touch()
        while os.environ["PADDLE_TRAINER_ID"] == "0":
            time.sleep(0.1)
        while not pathlib.Path("there.0").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
    """
    job = Job(tmp_path, ["--nproc_per_node=2"], script)
    job.wait_for("there.1")
    killed = time.monotonic()
    assert job.wait() == 137
    room = watched.room(8)
    assert time.monotonic() - killed < room, "1.5 s of grace, and room for a busy machine"
    job.assert_nothing_left()


def test_a_stopped_process_hears_the_end(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], WAIT, WHO="", COUNT="2")
    job.wait_for("there.*", 2)
    for pid in job.pids():
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        if "script.py" in command and pid != job.process.pid:
            os.kill(pid, signal.SIGSTOP)
    job.kill(signal.SIGTERM)
    assert job.wait() == 143
    job.assert_nothing_left()


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_job(tmp_path, number, code):
    job = Job(tmp_path, ["--server_num=1", "--worker_num=2"], WAIT, WHO="", COUNT="3")
    job.wait_for("there.*", 3)
    job.kill(number)
    assert job.wait() == code
    job.assert_nothing_left()


def test_the_second_interrupt_kills(tmp_path):
    script = """
        import signal, time, pathlib
        for s in (signal.SIGINT, signal.SIGTERM):
            signal.signal(s, signal.SIG_IGN)
        pathlib.Path("there").touch()
        time.sleep(1000)
    """
    job = Job(tmp_path, ["--nproc_per_node=1"], script)
    job.wait_for("there")
    job.kill(signal.SIGINT)
    time.sleep(0.2)
    second = time.monotonic()
    job.kill(signal.SIGINT)
    assert job.wait() == 130
    assert time.monotonic() - second < watched.room(4), "without it, 5 s of grace"
    job.assert_nothing_left()


def test_a_killed_launcher_takes_everything_along(tmp_path):
    job = Job(tmp_path, ["--server_num=1", "--worker_num=2"], WAIT, WHO="", COUNT="3")
    job.wait_for("there.*", 3)
    assert len(job.pids()) >= 7, "the launcher, its guardian, three processes and their children"
    job.kill(signal.SIGKILL)
    job.process.wait()
    job.assert_nothing_left(2)


def test_interrupts_at_random_moments_leave_nothing(tmp_path):
    random.seed(7)
    for attempt in range(50 if FULL else 6):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        job = Job(folder, ["--server_num=1", "--worker_num=2"], WAIT, WHO="", COUNT="3")
        time.sleep(random.uniform(0, 0.4))
        job.kill(signal.SIGINT)
        assert job.wait() in (130, -signal.SIGINT), job.err
        job.assert_nothing_left()


def test_many_jobs_at_once_do_not_meet(tmp_path):
    script = """
        import os, socket, time
        socket.socket(fileno=int(os.environ["FLT_LISTEN_FD"])).getsockname()
        time.sleep(0.2)
    """
    jobs = []
    for i in range(50 if FULL else 10):
        folder = tmp_path / str(i)
        folder.mkdir()
        jobs.append(Job(folder, ["--nproc_per_node=2", "--quiet"], script))
    assert [job.wait() for job in jobs] == [0] * len(jobs)
    for job in jobs:
        job.assert_nothing_left()


def test_a_server_is_started_again_alone(tmp_path):
    script = """
        import os, sys, time, pathlib
        if os.environ["TRAINING_ROLE"] == "PSERVER":
            print("attempt", os.environ["FLT_ATTEMPT"], flush=True)
            if os.environ["FLT_ATTEMPT"] == "0":
                os.kill(os.getpid(), 9)
            pathlib.Path("second").touch()
            time.sleep(1000)
        while not pathlib.Path("second").exists():
            time.sleep(0.01)
    """
    job = Job(tmp_path, ["--server_num=1", "--worker_num=1", "--max_restart=1"], script)
    assert job.wait() == 0
    assert "restart 1 of 1" in job.err
    assert job.log("serverlog.0") == "attempt 0\n"
    assert job.log("serverlog.0.1") == "attempt 1\n"
    job.assert_nothing_left()


def test_a_collective_job_is_started_again_whole_within_its_budget(tmp_path):
    script = """
        import os, sys
        print("attempt", os.environ["FLT_ATTEMPT"], flush=True)
        if os.environ["PADDLE_TRAINER_ID"] == "1" and os.environ["FLT_ATTEMPT"] != os.environ["LAST"]:
            sys.exit(5)
    """
    job = Job(tmp_path, ["--nproc_per_node=2", "--max_restart=2"], script, LAST="2")
    assert job.wait() == 0
    for rank in range(2):
        assert job.log(f"workerlog.{rank}.2") == "attempt 2\n"
    folder = tmp_path / "again"
    folder.mkdir()
    job = Job(folder, ["--nproc_per_node=2", "--max_restart=1"], script, LAST="9")
    assert job.wait() == 5
    assert "worker 1 failed first" in job.err
    job.assert_nothing_left()


# A server counts its lives in its folder and dies while it has had fewer than LIVES; workers wait
# for the last life of each. Worker 1 does DEED before that.
SERVERS = """
    import os, pathlib, signal, sys, time
    if os.environ["TRAINING_ROLE"] == "PSERVER":
        lives = pathlib.Path(os.environ["FLT_PS_DIR"], "lives." + os.environ["FLT_RANK"])
        with lives.open("a") as file:
            file.write(os.environ["FLT_ATTEMPT"])
        pathlib.Path("folder").write_text(os.environ["FLT_PS_DIR"])
        if len(lives.read_text()) < int(os.environ.get("LIVES", "1")):
            exec(os.environ.get("DEATH", "os.kill(os.getpid(), 9)"))
        pathlib.Path("served." + os.environ["FLT_RANK"]).touch()
        time.sleep(1000)
    assert "FLT_PS_DIR" not in os.environ
    if os.environ["PADDLE_TRAINER_ID"] == "1":
        exec(os.environ.get("DEED", ""))
    for rank in range(len(os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(","))):
        while not pathlib.Path(f"served.{rank}").exists():
            time.sleep(0.01)
    print("done in attempt", os.environ["FLT_ATTEMPT"], flush=True)
"""


def test_a_killed_server_continues_in_its_folder(tmp_path):
    job = Job(tmp_path, ["--server_num=1", "--worker_num=2"], SERVERS, LIVES="3")
    assert job.wait() == 0, job.err
    assert "restart 2 of 3" in job.err
    folder = pathlib.Path((tmp_path / "folder").read_text())
    assert not folder.exists(), "it goes with the job"
    for rank in range(2):
        assert job.log(f"workerlog.{rank}") == "done in attempt 0\n"
    job.assert_nothing_left()


def test_servers_are_not_started_again_for_ever(tmp_path):
    job = Job(tmp_path, ["--server_num=1", "--worker_num=2"], SERVERS, LIVES="9")
    assert job.wait() == 137
    assert "restart 3 of 3" in job.err and "server 0 failed first" in job.err
    job.assert_nothing_left()


@pytest.mark.parametrize(
    "options, environment",
    [
        (["--max_restart=0"], {"LIVES": "2"}),
        ([], {"LIVES": "2", "DEATH": "sys.exit(137)"}),
    ],
)
def test_a_server_that_is_not_started_again_ends_the_job(tmp_path, options, environment):
    job = Job(tmp_path, ["--server_num=1", "--worker_num=2", *options], SERVERS, **environment)
    assert job.wait() == 137
    assert "restart" not in job.err and "server 0 failed first" in job.err
    job.assert_nothing_left()


def test_a_named_folder_stays_and_goes_on(tmp_path):
    options = ["--server_num=2", "--worker_num=2", "--ps_dir=tables"]
    for _ in range(2):
        for served in tmp_path.glob("served.*"):
            served.unlink()
        job = Job(tmp_path, options, SERVERS)
        assert job.wait() == 0, job.err
    for rank in range(2):
        assert (tmp_path / "tables" / f"lives.{rank}").read_text() == "00"


def test_the_folder_of_servers_goes_with_a_killed_or_interrupted_launcher(tmp_path):
    for number in (signal.SIGKILL, signal.SIGINT):
        (tmp_path / "served.0").unlink(missing_ok=True)
        job = Job(tmp_path, ["--server_num=1", "--worker_num=2"], SERVERS, DEED="time.sleep(1000)")
        job.wait_for("served.0")
        folder = pathlib.Path((tmp_path / "folder").read_text())
        assert folder.exists()
        job.kill(number)
        job.process.communicate()
        job.assert_nothing_left()
        assert not folder.exists()


def test_a_worker_is_started_again_alone(tmp_path):
    deed = "os.environ['FLT_ATTEMPT'] == '0' and os.kill(os.getpid(), 9)"
    options = ["--server_num=1", "--worker_num=2", "--max_restart=1"]
    job = Job(tmp_path, options, SERVERS, DEED=deed)
    assert job.wait() == 0, job.err
    assert job.log("workerlog.0") == "done in attempt 0\n"
    assert job.log("workerlog.1.1") == "done in attempt 1\n"


def test_the_others_go_on_without_a_worker(tmp_path):
    options = ["--server_num=1", "--worker_num=2", "--worker_failure=continue", "--json"]
    job = Job(tmp_path, options, SERVERS, DEED="sys.exit(5)")
    assert job.wait() == 5
    assert "the others continue" in job.err and "worker 1 failed first" in job.err
    assert job.log("workerlog.0") == "done in attempt 0\n"
    assert job.result()["culprit"]["rank"] == 1
    job.assert_nothing_left()


def test_servers_have_time_to_write_what_is_left(tmp_path):
    script = """
        import os, pathlib, signal, sys, time
        if os.environ["TRAINING_ROLE"] == "PSERVER":
            import paddle
            from paddle.distributed import fleet
            def write(*_):
                time.sleep(6)
                pathlib.Path("written").touch()
                sys.exit(0)
            signal.signal(signal.SIGTERM, write)
            import _flotilla as core
            core.fleet.join(core.role_from_environment(False))
            pathlib.Path("served").touch()
            time.sleep(1000)
        while not pathlib.Path("served").exists():
            time.sleep(0.01)
    """
    job = Job(tmp_path, ["--server_num=1", "--worker_num=1"], script)
    assert job.wait() == 0
    assert (tmp_path / "written").exists()
