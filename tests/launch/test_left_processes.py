"""What processes start ends with them, whoever is killed: pipe commands, data workers, and theirs."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from job import LIMIT, Job, find_processes

# A command with a child in its group and one in a session of its own; none of them writes.
PIPE = "sh -c 'cat; sleep 1000 & setsid sleep 1000 & touch there.pipe; sleep 1000'"

READS_A_PIPE = f"""
    import os, paddle
    paddle.enable_static()
    open("part", "w").write("1 7\\n")
    dataset = paddle.distributed.InMemoryDataset()
    use_var = [paddle.static.data("a", [None, 1], "int64")]
    dataset.init(batch_size=1, use_var=use_var, pipe_command={PIPE!r})
    dataset.set_filelist(["part"])
    dataset.load_into_memory()
"""

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


def wait_until(done, words):
    deadline = time.monotonic() + LIMIT
    while not done():
        assert time.monotonic() < deadline, words
        time.sleep(0.02)


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
    wait_until(lambda: list(tmp_path.glob("there.*")), "it did not come so far")
    assert len(alone.pids()) >= 4
    alone.process.kill()
    alone.process.wait(LIMIT)  # not for its output, which what is left would hold open
    wait_until(lambda: not alone.pids(), f"still there: {alone.pids()}")


@pytest.mark.parametrize("what", ["pipe", "data workers"])
@pytest.mark.parametrize("who", ["launcher", "worker"])
def test_a_killed_job_leaves_nothing(tmp_path, what, who):
    job = Job(tmp_path, ["--nproc_per_node=1"], SCRIPTS[what])
    job.wait_for("there.*")
    assert len(job.pids()) >= 6
    pid = job.process.pid if who == "launcher" else job.pid_of("worker", 0)
    os.kill(pid, signal.SIGKILL)
    job.wait()
    wait_until(lambda: not job.pids(), f"still there: {job.pids()}")


def test_what_a_killed_data_worker_started_ends(tmp_path):
    alone = Alone(tmp_path, HAS_DATA_WORKERS)
    wait_until(lambda: list(tmp_path.glob("there.*")), "it did not come so far")
    children = subprocess.run(
        ["pgrep", "-P", str(alone.process.pid), "-f", "script.py"], capture_output=True, text=True
    ).stdout.split()
    assert len(children) == 2, "the data workers"
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    _, error = alone.process.communicate(timeout=LIMIT)
    assert alone.process.returncode == 1
    assert "was killed by signal 9" in error
    wait_until(lambda: not alone.pids(), f"still there: {alone.pids()}")
