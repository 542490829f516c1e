"""Folders of servers from which something was lost: the next job goes on with all, or refuses."""

import os
import shutil

import numpy as np
import pytest
import watched
from regression import Disturbed

FULL = bool(os.environ.get("FLT_TEST_FULL"))
STEPS, DONE = 30, 10
TWO = {"workers": 1, "servers": 2, "STEPS": str(STEPS), "options": ["--ps_dir=tables"]}


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What a job finds to which nothing happens, and the folder of one that was killed midway."""
    folder = tmp_path_factory.mktemp("calm")
    job = Disturbed(folder, **{**TWO, "options": ()})
    assert job.wait() == 0, job.err
    expected = shutil.copy(folder / "done.0.npz", folder / "calm.npz")
    train_until(DONE, folder)
    return expected, folder / "tables"


def train_until(step, folder, **settings):
    """A job that is killed before that step."""
    job = Disturbed(folder, UNTIL=str(step), **TWO, **settings)
    job.wait_for_step(step)
    job.kill()
    watched.communicate(job.process)
    job.assert_nothing_left(60)


@pytest.fixture
def tables(tmp_path, calm):
    return shutil.copytree(calm[1], tmp_path / "tables")


def assert_goes_on(folder, calm):
    expected = np.load(calm)
    job = Disturbed(folder, FROM=str(calm), **TWO)
    assert job.wait() == 0, job.err
    found = job.done()
    assert found["first"] == DONE
    np.testing.assert_array_equal(found["moments"], expected["moments"][DONE : STEPS + 1])


def another_jobs(mark):
    mark.write_text("flotilla ready 1\nserver 1 of 2\nvalues 5 record 2\nend 0\n")


LOST = {
    "deleted": lambda mark: mark.unlink(),
    "empty": lambda mark: mark.write_text(""),
    "of another job": another_jobs,
}


@pytest.mark.parametrize("lost", LOST if FULL else ["deleted"])
def test_a_job_goes_on_without_the_mark_of_a_server(tmp_path, calm, tables, lost):
    LOST[lost](tables / "server-1-of-2" / "ready")
    assert_goes_on(tmp_path, calm[0])
    mark = (tables / "server-1-of-2" / "ready").read_text()
    assert mark.startswith("flotilla ready 1\nserver 1 of 2\nvalues ")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(folder, server, sentence, **settings):
    before = contents(server)
    job = Disturbed(folder, **TWO, **settings)
    assert job.wait() != 0
    assert sentence in job.err
    after = contents(server)
    lost = [path for path, data in before.items() if after.get(path) != data]
    assert not lost, "the other server lost something"


def test_a_job_refuses_to_begin_anew_on_one_server_of_two(tmp_path, tables):
    shutil.rmtree(tables / "server-1-of-2")
    sentence = "server 0 has tables that were trained or loaded, but server 1 has none"
    assert_refused(tmp_path, tables / "server-0-of-2", sentence)


def test_a_server_that_loads_its_checkpoint_again_fits_until_the_others_have_trained(
    tmp_path, calm
):
    job = Disturbed(tmp_path, **{**TWO, "options": (), "STEPS": "3"}, SAVE="saved")
    assert job.wait() == 0, job.err
    saved = 2  # before the last step
    again = {"LOAD": "saved", "FROM": str(calm[0])}
    train_until(saved, tmp_path, **again)
    lost = tmp_path / "tables" / "server-1-of-2"
    shutil.rmtree(lost)
    train_until(saved + 2, tmp_path, **again)
    shutil.rmtree(lost)
    sentence = (
        "server 0 has tables that were trained, but server 1 has those of a checkpoint that it "
        "has loaded since, as if its folder "
    )
    for _ in range(2 if FULL else 1):
        assert_refused(tmp_path, tmp_path / "tables" / "server-0-of-2", sentence, **again)


@pytest.mark.skipif(not FULL, reason="long: FLT_TEST_FULL=1 runs it")
def test_a_job_refuses_a_server_whose_log_is_gone(tmp_path, tables):
    for log in tables.glob("server-1-of-2/log.*"):
        log.unlink()
    sentence = "ready says that the tables had values at record "
    assert_refused(tmp_path, tables / "server-0-of-2", sentence)
    assert_refused(tmp_path, tables / "server-0-of-2", sentence)


@pytest.mark.skipif(not FULL, reason="long: FLT_TEST_FULL=1 runs it")
def test_a_job_refuses_the_server_of_another_job(tmp_path, tables):
    """Which has the same program, and has trained as long."""
    other = tmp_path / "other"
    job = Disturbed(other, **TWO)
    assert job.wait() == 0, job.err
    shutil.rmtree(tables / "server-1-of-2")
    shutil.copytree(other / "tables" / "server-1-of-2", tables / "server-1-of-2")
    sentence = "servers 0 and 1 have tables that do not belong together"
    assert_refused(tmp_path, tables / "server-0-of-2", sentence)
