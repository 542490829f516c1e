"""What processes start ends with them, whoever is killed: pipe commands, data workers, and theirs."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import watched
from job import Job, find_processes

# A command with a child in its group and one in a session of its own; none of them writes.
PIPE = "sh -c 'cat; sleep 1000 & setsid sleep 1000 & touch there.pipe; sleep 1000'"


def reads_a_pipe(command):
    return f"""
    import os, paddle
    paddle.enable_static()
    open("part", "w").write("1 7\\n")
    dataset = paddle.distributed.InMemoryDataset()
    use_var = [paddle.static.data("a", [None, 1], "int64")]
    dataset.init(batch_size=1, use_var=use_var, pipe_command={command!r})
    dataset.set_filelist(["part"])
    dataset.load_into_memory()
"""


READS_A_PIPE = reads_a_pipe(PIPE)

HAS_DATA_WORKERS = """
    import os, pathlib, subprocess, time
    import numpy as np
    import paddle
    paddle.enable_static()

    class Numbers(paddle.io.Dataset):
        def __len__(self):
            return 100

        def __getitem__(self, i):
            if i == 0:
                subprocess.Popen(["sleep", "1000"])
                subprocess.Popen(["sleep", "1000"], start_new_session=True)
                pathlib.Path("there.worker").touch()
                time.sleep(1000)
            return np.float32([i])

    for batch in paddle.io.DataLoader(Numbers(), batch_size=1, num_workers=2):
        pass
"""

HAS_READERS = """
    import pathlib, subprocess, time
    import paddle

    def samples():
        subprocess.Popen(["sleep", "1000"])
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        pathlib.Path("there.reader").touch()
        time.sleep(1000)
        yield 1

    for sample in paddle.reader.multiprocess_reader([samples])():
        pass
"""

# A reader in a process of its own, which has data workers.
HAS_READERS_WITH_WORKERS = """
    import pathlib, subprocess, time
    import numpy as np
    import paddle
    paddle.enable_static()

    class Numbers(paddle.io.Dataset):
        def __len__(self):
            return 100

        def __getitem__(self, i):
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            pathlib.Path("there.worker").touch()
            time.sleep(1000)

    def samples():
        yield from paddle.io.DataLoader(Numbers(), batch_size=1, num_workers=2)

    for sample in paddle.reader.multiprocess_reader([samples])():
        pass
"""

SCRIPTS = {
    "pipe": READS_A_PIPE,
    "data workers": HAS_DATA_WORKERS,
    "readers": HAS_READERS,
    "readers with data workers": HAS_READERS_WITH_WORKERS,
}


class Alone:
    """A training process without a launcher."""

    def __init__(self, folder, script):
        self.mark = f"FLT_TEST_MARK=alone-{os.getpid()}-{time.monotonic_ns()}"
        (folder / "script.py").write_text(textwrap.dedent(script))
        name, value = self.mark.split("=", 1)
        self.process = subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=folder,
            env={**os.environ, name: value},
            stderr=subprocess.PIPE,
            text=True,
        )

    def pids(self):
        return find_processes(self.mark)


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_killed_process_without_a_launcher_leaves_nothing(tmp_path, what):
    alone = Alone(tmp_path, SCRIPTS[what])
    watched.wait_until(lambda: list(tmp_path.glob("there.*")), "it did not come so far")
    assert len(alone.pids()) >= 4
    alone.process.kill()
    watched.wait(alone.process)  # not for its output, which what is left would hold open
    watched.wait_until(lambda: not alone.pids(), f"still there: {alone.pids()}")


@pytest.mark.parametrize("what", ["pipe", "data workers"])
@pytest.mark.parametrize("who", ["launcher", "worker"])
def test_a_killed_job_leaves_nothing(tmp_path, what, who):
    job = Job(tmp_path, ["--nproc_per_node=1"], SCRIPTS[what])
    job.wait_for("there.*")
    assert len(job.pids()) >= 6
    pid = job.process.pid if who == "launcher" else job.pid_of("worker", 0)
    os.kill(pid, signal.SIGKILL)
    job.wait()
    watched.wait_until(lambda: not job.pids(), f"still there: {job.pids()}")


def test_what_a_killed_data_worker_started_ends(tmp_path):
    alone = Alone(tmp_path, HAS_DATA_WORKERS)
    watched.wait_until(lambda: list(tmp_path.glob("there.*")), "it did not come so far")
    children = subprocess.run(
        ["pgrep", "-P", str(alone.process.pid), "-f", "script.py"], capture_output=True, text=True
    ).stdout.split()
    assert len(children) == 2, "the data workers"
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    _, error = watched.communicate(alone.process)
    assert alone.process.returncode == 1
    assert "was killed by signal 9" in error
    watched.wait_until(lambda: not alone.pids(), f"still there: {alone.pids()}")


# Below: what leaves its process group, its session and its environment, so that only a cgroup knows
# whose it is. WORD is how the tests find it.
LEAVES = "env -i setsid sleep WORD"

LEAVES_A_PIPE = reads_a_pipe(f"sh -c 'cat; {LEAVES} & touch there.pipe; sleep 1000'")

# The processes of a job have cgroups as well; those of their data workers are below.
LEAVES_A_WORKER = f"""
    import pathlib, subprocess, time
    subprocess.Popen({LEAVES.split()!r})
    pathlib.Path("there.worker").touch()
    time.sleep(1000)
"""

LEAVES_A_DATA_WORKER = f"""
    import pathlib, subprocess, time
    import paddle
    paddle.enable_static()

    class Numbers(paddle.io.Dataset):
        def __len__(self):
            return 100

        def __getitem__(self, i):
            subprocess.Popen({LEAVES.split()!r})
            pathlib.Path("there.data_worker").touch()
            time.sleep(1000)

    def samples():
        yield from paddle.io.DataLoader(Numbers(), batch_size=1, num_workers=1)

    for sample in paddle.reader.multiprocess_reader([samples])():
        pass
"""

LEAVING = {"pipe": LEAVES_A_PIPE, "data worker": LEAVES_A_DATA_WORKER}


def own_cgroup():
    """The folder of this process's cgroup (version 2), or None."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    paths = [line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::/")]
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    for _, where, kind, *_ in mounts:
        if (
            kind == "cgroup2"
            and paths
            and (pathlib.Path(where, paths[0]) / "cgroup.procs").exists()
        ):
            return pathlib.Path(where, paths[0])
    return None


@pytest.fixture
def cgroup():
    found = own_cgroup()
    if found is None:
        pytest.skip("no cgroup v2 is mounted that has this process")
    trial = found / f"flotilla-test-{os.getpid()}"
    try:
        trial.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup may be made in {found}: {error.strerror}")
    trial.rmdir()
    return found


def new_word():
    return f"1000.{time.monotonic_ns()}"


def running(word):
    """The processes whose last argument is `word`."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().endswith(f"\0{word}\0".encode()):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def made_by(pid, cgroup):
    return list(cgroup.glob(f"flotilla-{pid}-*"))


def wait_for_the_end(word, pid, cgroup):
    try:
        watched.wait_until(lambda: not running(word), f"still there: {word}")
        watched.wait_until(lambda: not made_by(pid, cgroup), f"still there: {made_by(pid, cgroup)}")
    finally:
        for left in running(word):
            os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("what", LEAVING)
def test_what_left_everything_ends_with_its_process(tmp_path, cgroup, what):
    word = new_word()
    alone = Alone(tmp_path, LEAVING[what].replace("WORD", word))
    watched.wait_until(
        lambda: list(tmp_path.glob("there.*")) and running(word), "it did not come so far"
    )
    made = made_by(alone.process.pid, cgroup)
    alone.process.kill()
    watched.wait(alone.process)
    wait_for_the_end(word, alone.process.pid, cgroup)
    assert made


@pytest.mark.parametrize("what", [*LEAVING, "worker"])
@pytest.mark.parametrize("who", ["launcher", "worker"])
def test_what_left_everything_ends_with_its_job(tmp_path, cgroup, what, who):
    word = new_word()
    script = {**LEAVING, "worker": LEAVES_A_WORKER}[what].replace("WORD", word)
    job = Job(tmp_path, ["--nproc_per_node=1"], script)
    job.wait_for("there.*")
    watched.wait_until(lambda: running(word), "it did not come so far")
    made = made_by(job.process.pid, cgroup)
    pid = job.process.pid if who == "launcher" else job.pid_of("worker", 0)
    os.kill(pid, signal.SIGKILL)
    job.wait()
    wait_for_the_end(word, job.process.pid, cgroup)
    assert made


def test_what_left_everything_ends_with_a_job_that_ends_well(tmp_path, cgroup):
    word = new_word()
    command = f"cat; {LEAVES.replace('WORD', word)} >/dev/null 2>&1 & sleep 0.2"
    job = Job(tmp_path, ["--nproc_per_node=1"], reads_a_pipe(f"sh -c '{command}'"))
    assert job.wait() == 0, job.err
    assert not made_by(job.process.pid, cgroup)
    wait_for_the_end(word, job.process.pid, cgroup)


# As docs/launch.md describes it.
OUTLIVES = """
    import subprocess
    words = 'echo 0 >"$OUTSIDE/cgroup.procs"; exec env -u FLT_GROUP setsid sleep WORD'
    subprocess.Popen(["sh", "-c", words])
    subprocess.run("until pgrep -fx 'sleep WORD'; do sleep 0.02; done", shell=True)
"""


def test_what_leaves_the_cgroup_lives_on(tmp_path, cgroup):
    word = new_word()
    script = OUTLIVES.replace("WORD", word)
    job = Job(tmp_path, ["--nproc_per_node=1"], script, OUTSIDE=str(cgroup))
    try:
        assert job.wait() == 0, job.err
        assert running(word)
        assert not made_by(job.process.pid, cgroup)
    finally:
        for left in running(word):
            os.kill(left, signal.SIGKILL)
