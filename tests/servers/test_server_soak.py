"""Many pushes while servers are killed every few seconds: every sum is exact."""

import os
import pathlib
import random
import time

import numpy as np
import pytest
from job import Job

FULL = bool(os.environ.get("FLT_TEST_FULL"))
SERVERS, WORKERS, ROWS = 4 if FULL else 2, 2, 500
STEPS = 125_000 if FULL else 600  # of each worker; each pushes to all servers

# Every step adds 1 to each number of w, and to the rows of its ids. Before the last step a worker
# waits for the file "go", so that nobody comes too late to kill a server.
SCRIPT = """
    import os, pathlib, sys, time
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet
    from paddle.distributed.fleet.utils.ps_util import DistributedInfer

    STEPS, ROWS = int(os.environ["STEPS"]), int(os.environ["ROWS"])
    paddle.enable_static()
    fleet.init()
    ids = paddle.static.data("ids", [None, 1], "int64")
    zero = lambda name: paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Constant(0.0))
    rows = paddle.static.nn.embedding(ids, [ROWS, 1], is_sparse=True, param_attr=zero("rows"))
    w = paddle.static.create_parameter([64], "float32", attr=zero("w"))
    test = paddle.static.default_main_program().clone(for_test=True)
    loss = paddle.scale(paddle.sum(rows) + paddle.sum(w), -1.0)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    if fleet.is_worker() and fleet.worker_index() == 1:
        # Up to four steps on their way; worker 0 waits for each.
        strategy.a_sync_configs = {"send_queue_size": 4, "max_merge_var_num": 1}
    fleet.distributed_optimizer(paddle.optimizer.SGD(1.0), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    rank = fleet.worker_index()
    random = np.random.RandomState(rank)
    used = random.randint(0, ROWS, (STEPS, 4, 1))
    for step in range(STEPS):
        if step % 50 == 0:
            pathlib.Path(f"step.{rank}").write_text(str(step))
        while step == STEPS - 1 and not pathlib.Path("go").exists():
            time.sleep(0.01)
        exe.run(feed={"ids": used[step]}, fetch_list=[])
    np.save(f"used.{rank}", used)
    fleet.barrier_worker()
    if rank == 0:
        fleet.save_persistables(exe, "saved")  # takes w as the servers have it
        program = DistributedInfer(main_program=test).get_dist_infer_program()
        every = np.arange(ROWS).reshape(-1, 1)
        found = exe.run(program, feed={"ids": every}, fetch_list=[rows.name, "w"])
        np.savez("found", rows=found[0], w=found[1])
    fleet.stop_worker()
"""


def disturb(job, draw):
    """Kills one server after the other until the workers are almost done. How many times."""
    kills, next_kill = 0, 0
    while job.process.poll() is None:
        marks = list(pathlib.Path(job.folder).glob("step.*"))
        steps = min((int(mark.read_text() or 0) for mark in marks), default=0)
        if steps >= STEPS - 50:
            return kills
        if len(marks) == WORKERS and time.monotonic() >= next_kill and steps >= 100 * kills:
            job.kill_processes(("server", kills % SERVERS))
            kills += 1
            next_kill = time.monotonic() + draw.uniform(1, 4)
        time.sleep(0.01)
    return kills


@pytest.mark.limit(1800)
def test_sums_stay_exact_while_servers_are_killed(tmp_path):
    options = [f"--worker_num={WORKERS}", f"--server_num={SERVERS}", "--max_restart=100000"]
    settings = {"STEPS": str(STEPS), "ROWS": str(ROWS), "FLT_PS_SNAPSHOT_SECONDS": "2"}
    # Of a pipe that nobody reads, the launcher's words about restarts would soon be more than it holds.
    into_file = ["sh", "-c", 'exec "$@" 2>errors', "sh"]
    job = Job(tmp_path, options, SCRIPT, inside=into_file, **settings)
    began = time.monotonic()
    kills = disturb(job, random.Random(1))
    (tmp_path / "go").touch()
    code, errors = job.wait(), (tmp_path / "errors").read_text()
    assert code == 0, errors
    pushes = STEPS * WORKERS * SERVERS
    print(f"{pushes} pushes, {kills} kills, {time.monotonic() - began:.0f} s")
    assert kills >= (30 if FULL else 1) and f"restart {kills} of" in errors
    found = np.load(tmp_path / "found.npz")
    used = np.concatenate([np.load(tmp_path / f"used.{rank}.npy") for rank in range(WORKERS)])
    np.testing.assert_array_equal(found["w"], STEPS * WORKERS)
    np.testing.assert_array_equal(found["rows"].ravel(), np.bincount(used.ravel(), minlength=ROWS))
    job.assert_nothing_left()
