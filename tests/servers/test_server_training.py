"""Training on parameter servers, as whole jobs."""

import os

import numpy as np
import pytest
from job import Job

FULL = bool(os.environ.get("FLT_TEST_FULL"))

# Regression on numbers and a table of 64 rows: ids up to 63, each with a weight of its own.
NET = """
    import os, sys, time, pathlib
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    RANK, WORKERS = int(os.environ.get("FLT_RANK", 0)), int(os.environ.get("PADDLE_TRAINERS_NUM", 1))

    def net(is_sparse=True):
        x = paddle.static.data("x", [None, 8])
        ids = paddle.static.data("ids", [None, 1], "int64")
        y = paddle.static.data("y", [None, 1])
        constant = lambda name: paddle.ParamAttr(
            name=name, initializer=paddle.nn.initializer.Constant(0.1))
        rows = paddle.static.nn.embedding(
            ids, [64, 4], is_sparse=is_sparse, param_attr=constant("table"))
        both = paddle.concat([x, paddle.reshape(rows, [-1, 4])], axis=1)
        hidden = paddle.static.nn.fc(both, 16, activation="tanh", weight_attr=constant("w"))
        out = paddle.static.nn.fc(hidden, 1, weight_attr=constant("v"))
        return out, paddle.mean(paddle.nn.functional.square_error_cost(out, y))

    def batch(step, begin=0, end=32):
        random = np.random.RandomState(step)
        x = random.rand(32, 8).astype("float32")
        ids = random.randint(0, 64, (32, 1))
        y = (x.sum(1, keepdims=True) / 8 + ids / 64).astype("float32")
        return {"x": x[begin:end], "ids": ids[begin:end], "y": y[begin:end]}

    def optimizer():
        rate = float(os.environ.get("RATE", "0.1"))
        if os.environ.get("RULE") == "Adam":
            return paddle.optimizer.Adam(rate, lazy_mode=True)  # as servers have it
        return paddle.optimizer.SGD(rate)

    def distributed(loss):
        strategy = fleet.DistributedStrategy()
        mode = os.environ["MODE"]
        strategy.a_sync = mode != "sync"
        strategy.a_sync_configs = {"k_steps": 5 if mode == "geo" else 0, "send_queue_size": 1}
        fleet.distributed_optimizer(optimizer(), strategy).minimize(loss)

    def steps(exe, loss, count=60):
        losses = []
        for step in range(count):
            share = 32 // WORKERS
            feed = batch(step, RANK * share, (RANK + 1) * share)
            losses.append(float(exe.run(feed=feed, fetch_list=[loss])[0]))
            time.sleep(float(os.environ.get("PAUSE", "0")))
        return losses

    def keep(name, values):
        np.savez(f"{name}.{RANK}", **values)

    def parameters():
        scope = paddle.static.global_scope()
        return {n: np.array(scope.find_var(n).get_tensor()) for n in ("w", "v")}
"""

LOCAL = """
    out, loss = net()
    optimizer().minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    keep("local", {"losses": steps(exe, loss), **parameters()})
"""

SERVED = """
    fleet.init()
    out, loss = net()
    distributed(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        losses = steps(exe, loss)
        fleet.barrier_worker()
        losses = fleet.util.all_gather(losses)
        if RANK == 0:
            fleet.save_persistables(exe, "saved")
            fleet.save_inference_model(exe, "model", ["x", "ids"], [out])
        keep("served", {"losses": np.mean(losses, axis=0), **parameters()})
        fleet.stop_worker()
"""


def local(folder, **environment):
    job = Job(folder, ["--nproc_per_node=1"], NET + LOCAL, MODE="", **environment)
    assert job.wait() == 0, job.err
    return dict(np.load(folder / "local.0.npz"))


def served(folder, workers=2, servers=2, script=NET + SERVED, options=(), **environment):
    counts = [f"--worker_num={workers}", f"--server_num={servers}"]
    job = Job(folder, [*counts, *options], script, **environment)
    assert job.wait() == 0, job.err + job.out
    job.assert_nothing_left()
    return dict(np.load(folder / "served.0.npz"))


@pytest.mark.parametrize("rule, rate", [("SGD", "0.1"), ("Adam", "0.01")])
@pytest.mark.parametrize("workers", [1, 2])
def test_in_step_equals_one_process(tmp_path, workers, rule, rate):
    (tmp_path / "one").mkdir()
    one = local(tmp_path / "one", RULE=rule, RATE=rate)
    many = served(tmp_path, workers, MODE="sync", RULE=rule, RATE=rate)
    np.testing.assert_allclose(many["losses"], one["losses"], rtol=1e-4, atol=1e-6)
    for name in ("w", "v"):
        np.testing.assert_allclose(many[name], one[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mode", ["async", "geo"])
def test_out_of_step_learns(tmp_path, mode):
    losses = served(tmp_path, MODE=mode, RATE="0.05")["losses"]
    assert np.mean(losses[-20:]) < 0.75 * np.mean(losses[:2])


LOAD = """
    import paddle.fluid as fluid
    exe = paddle.static.Executor()
    program, feeds, fetches = fluid.io.load_inference_model("model", exe)
    feed = {name: batch(3)[name] for name in feeds}
    (out,) = exe.run(program, feed=feed, fetch_list=fetches)
    keep("loaded", {"out": out})
"""

AGAIN = """
    fleet.init()
    out, loss = net()
    test = paddle.static.default_main_program().clone(for_test=True)
    distributed(loss)
    if fleet.is_server():
        fleet.init_server("saved")
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        from paddle.distributed.fleet.utils.ps_util import DistributedInfer

        program = DistributedInfer(main_program=test).get_dist_infer_program()
        (found,) = exe.run(program, feed=batch(3), fetch_list=[out.name])
        assert fleet.shrink(1) == 0
        keep("served", {"out": found, **parameters()})
        fleet.stop_worker()
"""


def test_what_is_saved_goes_on_anywhere(tmp_path):
    """A model in one process, and a checkpoint on another number of servers, give the same."""
    trained = served(tmp_path, MODE="sync")
    again = served(tmp_path, workers=1, servers=3, script=NET + AGAIN, MODE="sync")
    for name in ("w", "v"):
        np.testing.assert_array_equal(again[name], trained[name])
    job = Job(tmp_path, ["--nproc_per_node=1"], NET + LOAD, MODE="")
    assert job.wait() == 0, job.err
    loaded = np.load(tmp_path / "loaded.0.npz")["out"]
    np.testing.assert_allclose(loaded, again["out"], rtol=1e-6)


def test_a_job_continues_in_the_folder_of_the_last_one(tmp_path):
    first = served(tmp_path, workers=1, options=["--ps_dir=tables"], MODE="sync")
    second = served(tmp_path, workers=1, options=["--ps_dir=tables"], MODE="sync")
    assert second["losses"][0] < 0.5 * first["losses"][0]
    job = Job(
        *(tmp_path, ["--worker_num=1", "--server_num=1", "--ps_dir=tables"]),
        NET + SERVED,
        MODE="sync",
    )
    assert job.wait() != 0
    assert "are those of 2 servers, but this job has 1" in job.err


# The server that KILL names dies twice in the middle.
KILLED = """
    if os.environ["TRAINING_ROLE"] == "PSERVER" and RANK == 1 and int(os.environ["FLT_ATTEMPT"]) < 2:
        import random, signal, threading
        moment = random.Random(int(os.environ["SEED"]) + int(os.environ["FLT_ATTEMPT"])).uniform(0.7, 1.4)
        threading.Timer(moment, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
"""


@pytest.mark.parametrize("seed", [str(i) for i in range(15 if FULL else 1)])
def test_killed_servers_change_nothing(tmp_path, seed):
    (tmp_path / "calm").mkdir()
    calm = served(tmp_path / "calm", MODE="sync", PAUSE="0.05")
    job_folder = tmp_path / "killed"
    job_folder.mkdir()
    killed = served(job_folder, script=NET + KILLED + SERVED, MODE="sync", PAUSE="0.05", SEED=seed)
    assert (job_folder / "log" / "serverlog.1.1").exists()
    for name in ("losses", "w", "v"):
        np.testing.assert_array_equal(killed[name], calm[name])
