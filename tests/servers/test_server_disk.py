"""What servers write when they are killed on the way, when the disk is full, and what is left of it."""

import contextlib
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import time

import _flotilla as core
import numpy as np
import pytest
import watched
from regression import Disturbed

FULL = bool(os.environ.get("FLT_TEST_FULL"))
NO_ROOM = "No space left on device; free some space, or choose another folder"
STEPS = 100
ONE = {"workers": 1, "servers": 1, "STEPS": str(STEPS)}
KEPT = ["--ps_dir=tables"]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The file with what a worker finds to which nothing happens."""
    job = Disturbed(tmp_path_factory.mktemp("calm"), **ONE)
    assert job.wait() == 0, job.err
    return job.folder / "done.0.npz"


def assert_same(job, calm):
    """From where the job began, it found what the calm one did. The value is that step."""
    found, expected = job.done(), np.load(calm)
    first, end = int(found["first"]), job.steps
    np.testing.assert_array_equal(found["moments"], expected["moments"][first : end + 1])
    np.testing.assert_array_equal(found["losses"], expected["losses"][first:end])
    return first


def goes_on(folder, calm, options=KEPT, **settings):
    """A job that takes what is there comes to the same end. The value is the step it began with."""
    job = Disturbed(folder, options=options, FROM=str(calm), **{**ONE, **settings})
    assert job.wait() == 0, job.err + job.log("serverlog.0")
    return assert_same(job, calm), job


def kill_all(job):
    job.kill()
    watched.communicate(job.process)
    job.assert_nothing_left(60)


# ---- The log ----------------------------------------------------------------------------------------


def records_in(log):
    """How many whole records a log has."""
    data, at, count = log.read_bytes(), 16, 0
    while at + 24 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        at += 24 + (length + 7) // 8 * 8
        count += at <= len(data)
    return count


def test_a_torn_log_goes_on_from_its_last_whole_push(tmp_path, calm):
    """Cut anywhere, as by a write that was not finished."""
    done = 40
    job = Disturbed(tmp_path, options=KEPT, UNTIL=str(done), **ONE)
    job.wait_for_step(done)
    kill_all(job)
    whole = tmp_path / "whole"
    (tmp_path / "tables").rename(whole)
    (log,) = whole.glob("server-0-of-1/log.*")
    before = records_in(log) - done  # tables and first values
    size = log.stat().st_size
    draw = random.Random(1)
    for cut in [size - 1, *(draw.randrange(size // 3, size) for _ in range(20 if FULL else 1))]:
        shutil.rmtree(tmp_path / "tables", ignore_errors=True)
        shutil.copytree(whole, tmp_path / "tables")
        torn = tmp_path / "tables" / "server-0-of-1" / log.name
        os.truncate(torn, cut)
        expected = records_in(torn) - before
        first, job = goes_on(tmp_path, calm)
        assert first == expected and 0 < first < done
        assert "the last write is incomplete" in job.log("serverlog.0")


# ---- Kills while something is written ---------------------------------------------------------------


def wait_for_unfinished(job, pattern, seconds=None, there=True):
    """Waits until something is half written, or no longer, for at most so long (where that is given),
    and while the job gets on. Whether it is so."""
    patience = watched.Patience()
    deadline = time.monotonic() + (seconds or float("inf"))
    while time.monotonic() < deadline and job.process.poll() is None and not patience.over():
        with contextlib.suppress(OSError):  # a folder that goes while it is looked at
            if any(pathlib.Path(job.folder).glob(pattern)) == there:
                return True
    return False


@pytest.mark.parametrize("seed", range(10 if FULL else 1))
def test_a_kill_during_a_snapshot_changes_nothing(tmp_path, calm, seed):
    draw = random.Random(seed)
    pause = "0.1" if FULL else "0.03"
    snapshots = {"FLT_PS_SNAPSHOT_SECONDS": "1", "UNTIL": str(STEPS - 1), "PAUSE": pause}
    job = Disturbed(tmp_path, options=[*KEPT, "--max_restart=9"], **ONE, **snapshots)
    unfinished = "tables/server-0-of-1/snapshot.*.unfinished"
    kills = 0
    for _ in range(3 if FULL else 1):
        if wait_for_unfinished(job, unfinished, 5 if kills else None):
            time.sleep(draw.uniform(0, 0.01))
            job.kill_processes(("server", 0))
            kills += 1
            # What was left is removed when the server is back.
            assert wait_for_unfinished(job, unfinished, there=False)
    (tmp_path / "go").touch()
    assert job.wait() == 0, job.err
    assert kills > 0 and f"restart {kills} of 9" in job.err
    assert_same(job, calm)
    assert not list(tmp_path.glob("tables/server-0-of-1/*.unfinished"))
    # What is there is the end.
    assert goes_on(tmp_path, calm)[0] == STEPS


# Every step begins with a save.
SAVING = {**ONE, "SAVE": "saved", "STEPS": "15"}


@pytest.mark.parametrize("seed", range(10 if FULL else 1))
def test_a_kill_of_a_server_during_a_save_changes_nothing(tmp_path, calm, seed):
    draw = random.Random(seed)
    job = Disturbed(tmp_path, options=["--max_restart=9"], UNTIL="13", **SAVING)
    for step in sorted(draw.sample(range(1, 12), 3 if FULL else 1)):
        job.wait_for_step(step)
        wait_for_unfinished(job, "saved/.save-*.unfinished/folders/__tables__", 1)
        time.sleep(draw.uniform(0, 0.05))
        job.kill_processes(("server", 0))
    (tmp_path / "go").touch()
    assert job.wait() == 0, job.err
    assert_same(job, calm)
    assert not list(tmp_path.glob("saved/**/*.unfinished"))
    # The last save was before the last step.
    assert goes_on(tmp_path, calm, options=(), LOAD="saved")[0] == job.steps - 1


@pytest.mark.parametrize("seed", range(30 if FULL else 1))
def test_a_kill_of_a_job_during_a_save_leaves_the_last_checkpoint(tmp_path, calm, seed):
    draw = random.Random(seed)
    job = Disturbed(tmp_path, **SAVING)
    job.wait_for_step(draw.randrange(2, 12))
    wait_for_unfinished(job, "saved/.save-*.unfinished/folders/__tables__", 1)
    time.sleep(draw.uniform(0, 0.05))
    kill_all(job)
    last = int((tmp_path / "step.0").read_text())
    saved = dense_files(tmp_path / "saved")
    first, _ = goes_on(tmp_path, calm, options=(), LOAD="saved", **SAVING)
    assert last - 1 <= first <= last
    # The files of the parameters are of the same save as the tables.
    np.testing.assert_array_equal(saved, np.load(calm)["moments"][first])
    assert not list(tmp_path.glob("saved/.save*"))


def dense_files(folder, names=("w", "v")):
    scope = core.Scope()
    with core.SavedFiles(str(folder)) as files:
        files.load_vars(list(names), scope)
    return np.concatenate([np.array(scope.find_var(n).get_tensor()).ravel() for n in names])


# ---- A full disk ------------------------------------------------------------------------------------


class SmallDisk:
    """A file system of so many bytes at `path`, which only commands with the words `inside` see."""

    def __init__(self, path, size):
        path.mkdir()
        self.path = path
        mount = f"mount -t tmpfs -o size={size} disk {path} && echo there && exec sleep 1000"
        unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if not shutil.which("unshare") or not shutil.which("nsenter"):
            pytest.skip("a small disk needs the programs unshare and nsenter")
        self.holder = subprocess.Popen(
            [*unshare, "sh", "-c", mount],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = self.holder.stdout.readline().strip()
        if said != "there":
            self.close()
            pytest.skip("this kernel lets us mount no small disk: " + said)
        spaces = ["-m", "-r"] if os.geteuid() == 0 else ["-U", "--preserve-credentials", "-m", "-r"]
        # From a folder that is entered before, the disk would not be seen.
        enter = f'cd {path.parent} && exec "$@"'
        self.inside = ["nsenter", "-t", str(self.holder.pid), *spaces, "sh", "-c", enter, "sh"]
        assert self.run("stat", "-f", "-c", "%T", path.name).strip() == "tmpfs"

    def run(self, *words):
        return subprocess.run(
            [*self.inside, *words], check=True, capture_output=True, text=True
        ).stdout

    def close(self):
        self.holder.kill()
        self.holder.wait()


@pytest.fixture
def small_disk(tmp_path):
    """Makes a folder `small` of so many bytes in the test's folder."""
    made = []

    def make(size):
        made.append(SmallDisk(tmp_path / "small", size))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_full_disk_ends_the_job_and_costs_nothing(tmp_path, calm, small_disk):
    disk = small_disk("128k")
    options = ["--ps_dir=small/tables"]
    job = Disturbed(tmp_path, inside=disk.inside, options=options, **ONE)
    assert job.wait() == 1
    file = tmp_path / "small/tables/server-0-of-1/log.00000000000000000001"
    assert f"  raised  RuntimeError: cannot write {file}: {NO_ROOM}" in job.err.splitlines()
    job.assert_nothing_left()
    done = job.done()
    disk.run("mount", "-o", "remount,size=8m", str(disk.path))
    first, _ = goes_on(tmp_path, calm, options=options, inside=disk.inside)
    assert first == len(done["losses"]) > 5


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, calm, small_disk):
    disk = small_disk("1m")
    job = Disturbed(tmp_path, inside=disk.inside, UNTIL="3", SAVE="small/saved", **ONE)
    job.wait_for_step(3)
    # Room for a few files of the next checkpoint.
    free = int(disk.run("stat", "-f", "-c", "%a", "small")) * 4096
    assert free < 2**20
    disk.run("fallocate", "-l", str(free - 16384), "small/rest")
    (tmp_path / "go").touch()
    assert job.wait() == 1
    (raised,) = [line for line in job.err.splitlines() if line.startswith("  raised  ")]
    assert re.fullmatch(rf"  raised  \w+Error: cannot write \S*small/saved/\S+: {NO_ROOM}", raised)
    job.assert_nothing_left()
    disk.run("rm", "small/rest")
    first, _ = goes_on(tmp_path, calm, options=(), inside=disk.inside, LOAD="small/saved")
    assert first == 2
