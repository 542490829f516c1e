"""Jobs that fit a regression on numbers and a sparse table: alone, on servers, and disturbed."""

import pathlib
import time

import numpy as np
import watched
from job import Job

# Ids up to 63, each with a weight of its own.
NET = """
    import os, sys, time, pathlib
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    RANK, WORKERS = int(os.environ.get("FLT_RANK", 0)), int(os.environ.get("PADDLE_TRAINERS_NUM", 1))
    STEPS = int(os.environ.get("STEPS", "60"))

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

    def share_of(step):
        share = 32 // WORKERS
        return batch(step, RANK * share, (RANK + 1) * share)

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

    def steps(exe, loss):
        losses = []
        for step in range(STEPS):
            losses.append(float(exe.run(feed=share_of(step), fetch_list=[loss])[0]))
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

# Synchronous, for tests that disturb it: worker i writes into step.<i> how many steps it has done,
# waits where UNTIL says for the file "go", and keeps its parameters as they were before each step.
# With FROM, which names such parameters, it begins at the step before which it finds itself.
DISTURBED = """
    def moment():
        return np.concatenate([value.ravel() for value in parameters().values()])

    def where(now):
        if "FROM" not in os.environ:
            return 0
        found = (np.load(os.environ["FROM"])["moments"] == now).all(axis=1)
        assert found.sum() == 1, "the tables are those of no step, or of several"
        return int(found.argmax())

    def tell(step):
        pathlib.Path(f"step.{RANK}.new").write_text(str(step))
        os.replace(f"step.{RANK}.new", f"step.{RANK}")
        if str(step) == os.environ.get("UNTIL"):
            while not pathlib.Path("go").exists():
                time.sleep(0.01)

    fleet.init()
    out, loss = net()
    distributed(loss)
    if fleet.is_server():
        fleet.init_server(os.environ["LOAD"]) if "LOAD" in os.environ else fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        moments, losses = [moment()], []
        first = where(moments[0])
        try:
            for step in range(first, STEPS):
                tell(step)
                if RANK == 0 and "SAVE" in os.environ:
                    fleet.save_persistables(exe, os.environ["SAVE"])
                losses.append(float(exe.run(feed=share_of(step), fetch_list=[loss])[0]))
                moments.append(moment())
                time.sleep(float(os.environ.get("PAUSE", "0")))
        finally:
            keep("done", {"first": first, "losses": losses, "moments": moments})
        tell(STEPS)
        fleet.barrier_worker()
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


class Disturbed(Job):
    """A synchronous job that can be asked how far it is."""

    def __init__(self, folder, workers=2, servers=2, options=(), **environment):
        folder.mkdir(exist_ok=True)
        for mark in [*folder.glob("step.*"), *folder.glob("done.*")]:
            mark.unlink()
        counts = [f"--worker_num={workers}", f"--server_num={servers}"]
        settings = {"MODE": "sync", "RULE": "Adam", "RATE": "0.01", **environment}
        self.steps = int(settings["STEPS"])
        super().__init__(folder, [*counts, *options], NET + DISTURBED, **settings)

    def wait_for_step(self, step, worker=0):
        """Waits until a worker has done so many steps."""
        patience = watched.Patience()
        mark = pathlib.Path(self.folder, f"step.{worker}")
        while not mark.exists() or int(mark.read_text()) < step:
            assert not patience.over(), f"worker {worker} did not come to step {step}"
            if self.process.poll() is not None:
                self.wait()
                raise AssertionError("the launcher ended: " + self.err + self.out)
            time.sleep(0.002)

    def done(self, worker=0):
        """What a worker kept: losses, and the parameters before each step and at the end."""
        return dict(np.load(pathlib.Path(self.folder, f"done.{worker}.npz")))
