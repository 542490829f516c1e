"""What workers of parameter servers save and load, and what their rows begin with."""

import re

import numpy as np
import pytest
from job import Job
from regression import NET, served

# Every worker writes a folder of its own, and all write the same one at the same time.
EVERYBODY_SAVES = """
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
        if RANK == 1:  # alone: the other comes later
            fleet.save_inference_model(exe, "alone", ["x", "ids"], [out])
            assert os.path.exists("alone/__model__") and os.path.exists("alone/table")
        fleet.barrier_worker()
        for time in range(5):
            fleet.save_inference_model(exe, "both", ["x", "ids"], [out])
            fleet.save_persistables(exe, "state")
        fleet.save_persistables(exe, f"own.{RANK}")
        fleet.save_persistables(exe, f"base.{RANK}", mode=1)
        assert os.path.exists(f"base.{RANK}") == (RANK == 0)
        fleet.barrier_worker()
        keep("served", {"losses": losses, **parameters()})
        fleet.stop_worker()
"""

LOAD = """
    import paddle.fluid as fluid
    exe = paddle.static.Executor()
    results = {}
    for folder in ("alone", "both"):
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, feeds, fetches = fluid.io.load_inference_model(folder, exe)
            feed = {name: batch(3)[name] for name in feeds}
            (results[folder],) = exe.run(program, feed=feed, fetch_list=fetches)
    keep("loaded", results)
"""


def alone(folder, script, **environment):
    job = Job(folder, ["--nproc_per_node=1"], script, MODE="", **environment)
    assert job.wait() == 0, job.err


def files_in(folder):
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_every_worker_that_saves_writes(tmp_path):
    served(tmp_path, script=NET + EVERYBODY_SAVES, MODE="sync", STEPS="5")
    alone(tmp_path, NET + LOAD)
    loaded = np.load(tmp_path / "loaded.0.npz")
    np.testing.assert_array_equal(loaded["alone"], loaded["both"])
    first, second = files_in(tmp_path / "own.0"), files_in(tmp_path / "own.1")
    assert first.keys() == second.keys() == files_in(tmp_path / "state").keys()
    for name in ("w", "v"):
        assert first[name] == second[name]
    assert not list(tmp_path.rglob("*.unfinished")) and not list(tmp_path.rglob("*.tmp"))


# What was saved comes back, over what training has made of it since.
BACK = """
    fleet.init()
    out, loss = net()
    test = paddle.static.default_main_program().clone(for_test=True)
    distributed(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        from paddle.distributed.fleet.utils.ps_util import DistributedInfer

        program = DistributedInfer(main_program=test).get_dist_infer_program()
        look = lambda: exe.run(program, feed=batch(3), fetch_list=[out.name])[0]
        train = lambda n: [exe.run(feed=batch(i), fetch_list=[loss])[0] for i in range(n)]
        train(5)
        fleet.barrier_worker()
        if RANK == 0:
            fleet.save_persistables(exe, "saved")
            before = look()
            fleet.save_inference_model(exe, "model", ["x", "ids"], [out])
        fleet.barrier_worker()
        for folder, mode in (("saved", 0), ("model", 1)):
            train(5)
            fleet.barrier_worker()
            if RANK == 0:
                assert np.abs(look() - before).max() > 1e-3
                fleet.load_model(folder, mode)
                np.testing.assert_array_equal(look(), before)
            fleet.barrier_worker()
        keep("served", {"losses": train(5)})
        fleet.barrier_worker()
        fleet.stop_worker()
"""


@pytest.mark.parametrize("mode, workers", [("sync", 2), ("async", 2), ("geo", 1)])
def test_a_model_is_loaded_over_what_was_trained(tmp_path, mode, workers):
    after = served(tmp_path, workers, 2, NET + BACK, MODE=mode, RATE="0.05")
    assert np.isfinite(after["losses"]).all()  # and training goes on


# Ids of the whole range of int64.
FAR = """
    import paddle.fluid as fluid

    def far_net():
        ids = paddle.static.data("ids", [None, 1], "int64")
        y = paddle.static.data("y", [None, 1])
        rows = paddle.static.nn.sparse_embedding(
            ids, [10, 4], param_attr=paddle.ParamAttr(
                name="far", initializer=paddle.nn.initializer.Uniform(-1, 1)))
        out = paddle.static.nn.fc(paddle.reshape(rows, [-1, 4]), 1, bias_attr=False)
        return out, paddle.mean(paddle.nn.functional.square_error_cost(out, y))

    IDS = np.array([[2546248239], [9991898993], [-5], [3]])
    FEED = {"ids": IDS, "y": np.ones((4, 1), "float32")}
"""

FAR_SERVED = """
    fleet.init()
    out, loss = far_net()
    test = paddle.static.default_main_program().clone(for_test=True)
    distributed(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = paddle.static.Executor()
        exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        for step in range(5):
            exe.run(feed=FEED, fetch_list=[loss])
        from paddle.distributed.fleet.utils.ps_util import DistributedInfer

        program = DistributedInfer(main_program=test).get_dist_infer_program()
        (found,) = exe.run(program, feed=FEED, fetch_list=[out.name])
        fleet.save_inference_model(exe, "model", ["ids"], [out])
        fluid.io.save_inference_model("combined", ["ids"], [out], exe, params_filename="all")
        keep("served", {"out": found})
        fleet.stop_worker()
"""

FAR_ALONE = """
    exe = paddle.static.Executor()
    settings = dict(params_filename="all") if os.environ["FOLDER"] == "combined" else {}
    for again in range(2):
        program, feeds, fetches = fluid.io.load_inference_model(os.environ["FOLDER"], exe, **settings)
        (found,) = exe.run(program, feed={"ids": IDS}, fetch_list=fetches)
    keep("loaded", {"out": found})
"""


def test_a_model_with_ids_that_are_no_rows_is_saved_and_runs_in_one_process(tmp_path):
    trained = served(tmp_path, 1, 2, NET + FAR + FAR_SERVED, MODE="sync")
    for folder in ("model", "combined"):
        alone(tmp_path, NET + FAR + FAR_ALONE, FOLDER=folder)
        loaded = np.load(tmp_path / "loaded.0.npz")
        np.testing.assert_array_equal(loaded["out"], trained["out"])


def test_geo_says_why_it_has_no_such_rows(tmp_path):
    job = Job(
        *(tmp_path, ["--worker_num=1", "--server_num=1"]),
        NET + FAR + FAR_SERVED,
        MODE="geo",
    )
    assert job.wait() != 0
    assert "id 2546248239 at position 0 is not a row of the table" in job.err
    assert "in Geo mode every worker keeps the whole table" in job.err


# No parameter but a table; init_worker() comes before the startup program, as in 1.x.
ONLY_A_TABLE = """
    import paddle.fluid as fluid
    import paddle.fluid.incubate.fleet.base.role_maker as role_maker
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
    from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy \\
        import StrategyFactory

    on_servers = "TRAINING_ROLE" in os.environ
    seed = int(os.environ["SEED"])
    fluid.default_main_program().random_seed = seed
    fluid.default_startup_program().random_seed = seed
    ids = fluid.data("ids", [None, 1], "int64")
    rows = fluid.embedding(ids, [200, 8], is_sparse=True, param_attr=fluid.ParamAttr(
        name="table", initializer=fluid.initializer.Uniform(-0.5, 0.5)))
    loss = fluid.layers.reduce_mean(rows)
    optimizer = fluid.optimizer.SGD(0.1)
    if on_servers:
        fleet.init(role_maker.PaddleCloudRoleMaker())
        optimizer = fleet.distributed_optimizer(optimizer, StrategyFactory.create_sync_strategy())
    optimizer.minimize(loss)
    if on_servers and fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()
    exe = fluid.Executor(fluid.CPUPlace())
    if on_servers:
        fleet.init_worker()
    exe.run(fluid.default_startup_program())
    (found,) = exe.run(feed={"ids": np.arange(200).reshape(-1, 1)}, fetch_list=[rows])
    keep("served" if on_servers else "local", {"rows": found})
    if on_servers:
        fleet.stop_worker()
"""


def test_rows_begin_as_in_one_process_also_without_dense_parameters(tmp_path):
    found = {}
    for seed in ("7", "8"):
        alone(tmp_path, NET + ONLY_A_TABLE, SEED=seed)
        found[seed] = served(tmp_path, 1, 2, NET + ONLY_A_TABLE, MODE="sync", SEED=seed)["rows"]
        np.testing.assert_array_equal(found[seed], np.load(tmp_path / "local.0.npz")["rows"])
    assert np.abs(found["7"] - found["8"]).max() > 0.1


# What stands before the import of paddle runs once the process has left its job: worker 1 lingers
# there until worker 0 has failed.
LEFT = (
    """
    import atexit, os, pathlib, time

    @atexit.register
    def linger():
        if os.environ.get("LINGERS"):
            pathlib.Path("left").touch()
            time.sleep(20)
"""
    + NET
    + """
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
        steps(exe, loss)
        fleet.barrier_worker()
        if RANK == 1:
            os.environ["LINGERS"] = "1"
            fleet.stop_worker()
        else:
            while not os.path.exists("left"):
                time.sleep(0.01)
            raise ValueError("on purpose")
"""
)


def test_the_report_knows_who_had_joined(tmp_path):
    job = Job(tmp_path, ["--worker_num=2", "--server_num=1"], LEFT, MODE="sync", STEPS="5")
    assert job.wait() != 0
    assert "on purpose" in job.err
    assert "has not joined the job" not in job.err
    assert re.search(r"step \d+ +has left the job", job.err)
