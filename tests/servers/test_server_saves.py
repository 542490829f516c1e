"""What a worker of servers saves when it is killed on the way: one save, the old or the new one."""

import functools
import os
import random
import signal
import time

import _flotilla as core
import numpy as np
import paddle
import pytest
import watched
from job import Job
from regression import NET

FULL = bool(os.environ.get("FLT_TEST_FULL"))

# Trains and saves for ever. What a save will hold is kept before it begins, in begun.<n>.npz; when
# it has ended, ended.<n> says so.
SAVES_FOR_EVER = """
    from paddle import fluid, static
    from paddle.base import served

    fleet.init()
    out, loss = net()
    twice = paddle.scale(out, 2.0)
    distributed(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()

    exe = static.Executor()
    exe.run(static.default_startup_program())
    fleet.init_worker()
    PARAMETERS = ["table", "v", "w"]
    SAVES = {
        "fleet.save_persistables": lambda: fleet.save_persistables(exe, "saved"),
        "fleet.save_inference_model": lambda: fleet.save_inference_model(
            exe, "saved", ["x", "ids"], [target]),
        "fluid.io.save_persistables": lambda: fluid.io.save_persistables(exe, "saved"),
        "fluid.io.save_params": lambda: fluid.io.save_params(exe, "saved"),
        "fluid.io.save_vars": lambda: fluid.io.save_vars(exe, "saved", vars=PARAMETERS),
        "fluid.io.save_inference_model": lambda: fluid.io.save_inference_model(
            "saved", ["x", "ids"], [target], exe),
        "static.save": lambda: static.save(static.default_main_program(), "saved/m"),
        "static.save_inference_model": lambda: static.save_inference_model(
            "saved/m", inputs, [target], exe),
    }
    save = SAVES[os.environ["KIND"]]
    inputs = [static.default_main_program().global_block().var(name) for name in ("x", "ids")]
    rate = static.global_scope().find_var("learning_rate_0").get_tensor()
    begun = [int(path.name.split(".")[1]) for path in pathlib.Path().glob("begun.*.npz")]

    for n in range(max(begun, default=0) + 1, 1_000_000):
        exe.run(feed=batch(n), fetch_list=[loss])
        rate.set(np.array([0.1 + n / 1e6], "float32"), paddle.CPUPlace())  # which is kept, too
        target = twice if n % 2 else out
        _, scope = served.with_tables(PARAMETERS, static.global_scope())
        now = {name: np.array(scope.find_var(name).get_tensor()) for name in PARAMETERS}
        np.savez("new.npz", target=target.name, learning_rate_0=np.array(rate), **now)
        os.replace("new.npz", f"begun.{n}.npz")
        save()
        pathlib.Path(f"ended.{n}").touch()
"""


DENSE, ALL = ["v", "w"], ["table", "v", "w"]


def values_in(scope, names, program=None):
    """By name; of a model, which says by what it fetches of which save it is, that too."""
    found = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
    return {**found, "target": core.fetch_names(program)[0]} if program else found


def read_files(names, folder):
    """A file for each parameter."""
    scope = core.Scope()
    with core.SavedFiles(str(folder)) as files:
        files.load_vars(names, scope)
        program = files.read_program("__model__") if "__model__" in files else None
    return values_in(scope, names, program)


def read_model(folder):
    scope = core.Scope()
    with core.SavedFiles(str(folder)) as files:
        program = files.read_program("m.pdmodel")
        files.load_combined("m.pdiparams", core.persistable_names(program), scope)
    return values_in(scope, ALL, program)


def read_state(folder):
    found = paddle.static.load_program_state(str(folder / "m"))
    return {name: found[name] for name in [*ALL, "learning_rate_0"]}


# How what was saved is read, and whether the servers' tables are beside it.
KINDS = {
    "fleet.save_persistables": (functools.partial(read_files, DENSE), True),
    "fleet.save_inference_model": (functools.partial(read_files, ALL), True),
    "fluid.io.save_persistables": (functools.partial(read_files, ALL), True),
    "fluid.io.save_params": (functools.partial(read_files, ALL), False),
    "fluid.io.save_vars": (functools.partial(read_files, ALL), False),
    "fluid.io.save_inference_model": (functools.partial(read_files, ALL), False),
    "static.save": (read_state, False),
    "static.save_inference_model": (read_model, False),
}


def dense_in(tables):
    """The floats of the dense tables, which are cut into a slice for each server."""
    slices = []
    for manifest in tables.glob("server-*/MANIFEST"):
        for line in manifest.read_text().splitlines():
            word = line.split()
            if word[0] == "table":
                data = (manifest.parent / f"table.{word[1]}").read_bytes()
            elif word[0] == "slice":
                begin, end, offset = int(word[1]), int(word[2]), int(word[word.index("offset") + 1])
                slices.append((begin, data[offset : offset + 4 * (end - begin)]))
    return b"".join(data for _, data in sorted(slices))


def assert_in_tables(tables, state):
    """The servers have saved the same values."""
    assert len(list(tables.iterdir())) == 2, "two servers have a part each"
    dense = dense_in(tables)
    for name in DENSE:
        assert state[name].tobytes() in dense, f"{name} is of another save"
    sparse = [path.read_bytes() for path in tables.glob("server-*/table.*")]
    # Servers have no rows that were never trained.
    for row in state["table"][(state["table"] != np.float32(0.1)).any(axis=1)]:
        assert any(row.tobytes() in data for data in sparse), "a row is of another save"


def numbers(folder, pattern):
    """What stands between the name and the ending of files, the highest first."""
    return sorted((int(path.name.split(".")[1]) for path in folder.glob(pattern)), reverse=True)


def last_begun(folder):
    return next(iter(numbers(folder, "begun.*.npz")), 0)


def is_older(folder, kind):
    """All that is there is of one save, not older than one that has ended. Whether others have
    begun since."""
    read, with_tables = KINDS[kind]
    found = read(folder / "saved")
    ended = numbers(folder, "ended.*")[0]
    begun = [n for n in numbers(folder, "begun.*.npz") if n >= ended]
    states = {n: dict(np.load(folder / f"begun.{n}.npz")) for n in begun}
    same = [n for n in begun if all((found[name] == states[n][name]).all() for name in found)]
    assert len(same) == 1, "the files are of several saves"
    assert (folder / "saved" / "__tables__").exists() == with_tables
    if with_tables:
        assert_in_tables(folder / "saved" / "__tables__", states[same[0]])
    return same[0] < begun[0]


class Saving(Job):
    """A job whose worker saves for ever."""

    def __init__(self, folder, kind):
        options = ["--worker_num=1", "--server_num=2", "--max_restart=9"]
        super().__init__(folder, options, NET + SAVES_FOR_EVER, MODE="sync", KIND=kind)

    def wait_until(self, there):
        """Waits until it is so."""
        patience = watched.Patience()
        while not there():
            assert self.process.poll() is None, self.process.stderr.read()
            assert not patience.over(), "the worker saves nothing"
            time.sleep(0.001)

    def end(self):
        self.kill()
        watched.communicate(self.process)
        self.assert_nothing_left(60)

    def seconds_of_a_save(self):
        begun, ended = self.folder / "begun.1.npz", self.folder / "ended.1"
        self.wait_until(ended.exists)
        return ended.stat().st_mtime - begun.stat().st_mtime

    def kill_while_saving(self, seconds):
        """Kills the worker so long after it began with the next save."""
        pid = self.pid_of("worker", 0)
        before = last_begun(self.folder)
        self.wait_until(lambda: last_begun(self.folder) > before)
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        self.wait_until(lambda: pid not in self.pids())


@pytest.mark.limit(1200)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_of_a_worker_during_a_save_leaves_one_save(tmp_path, kind):
    draw = random.Random(kind)
    job = Saving(tmp_path, kind)
    seconds = job.seconds_of_a_save()
    older = 0
    # The launcher waits longer before each restart: a few in a job, and many jobs, take less time.
    rounds = 25 if FULL else 1
    for left in reversed(range(rounds)):
        for _ in range(4 if FULL else 2):
            job.kill_while_saving(draw.uniform(0, 1.5 * seconds))
            older += is_older(tmp_path, kind)
        job.end()
        if left:
            job = Saving(tmp_path, kind)
    print(f"{older} kills came before the save counted, of a save of {seconds:.3f} s")
    assert older or not FULL, "no kill came in time"
