"""Training on parameter servers, as whole jobs."""

import numpy as np
import pytest
from job import Job
from regression import NET, SERVED, local, served


@pytest.mark.parametrize("rule, rate", [("SGD", "0.1"), ("Adam", "0.01")])
def test_in_step_equals_one_process(tmp_path, rule, rate):
    """100 steps of 1, 2 and 4 workers with the same batches in all."""
    settings = {"RULE": rule, "RATE": rate, "STEPS": "100"}
    one = local(tmp_path, **settings)
    for workers in (1, 2, 4):
        folder = tmp_path / str(workers)
        folder.mkdir()
        many = served(folder, workers, MODE="sync", **settings)
        np.testing.assert_allclose(many["losses"], one["losses"], rtol=0, atol=1e-5)
        for name in ("w", "v"):
            np.testing.assert_allclose(many[name], one[name], rtol=0, atol=1e-4)


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


# Saves a base, a delta after a batch more, and the table by itself; or continues with what was saved.
SAVED_IN_PARTS = """
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
        train = lambda n: [exe.run(feed=batch(i), fetch_list=[loss]) for i in range(n)]
        if os.environ["PART"] == "save":
            train(4)
            fleet.save_persistables(exe, "base", mode=1)
            train(1)
            fleet.save_persistables(exe, "delta", mode=2)
            fleet.save_one_table(0, "zero", 0)
            fleet.save_one_table(1, "one", 0)
            try:
                fleet.save_persistables(exe, "nothing", mode=4)
            except ValueError as error:
                assert "mode 0" in str(error) and not os.path.exists("nothing/__tables__")
            else:
                assert False
        elif os.environ["PART"] == "deltas":
            fleet.load_model("base", 0)
            fleet.load_model("delta", 0)
        else:
            fleet.load_one_table(0, "zero", 0)
            fleet.load_one_table(1, "one", 0)
        from paddle.distributed.fleet.utils.ps_util import DistributedInfer

        program = DistributedInfer(main_program=test).get_dist_infer_program()
        (found,) = exe.run(program, feed=batch(3), fetch_list=[out.name])
        keep("served", {"out": found, **parameters()})
        fleet.stop_worker()
"""


def test_a_base_and_its_delta_are_the_whole_and_so_are_the_tables_one_by_one(tmp_path):
    def run(part, servers):
        return served(tmp_path, 1, servers, NET + SAVED_IN_PARTS, MODE="async", PART=part)

    trained = run("save", 2)
    size = {
        name: sum(file.stat().st_size for file in (tmp_path / name).rglob("table.*"))
        for name in ("base", "delta")
    }
    assert size["delta"] < size["base"]
    for again in (run("deltas", 3), run("tables", 1)):
        for name, value in trained.items():
            np.testing.assert_array_equal(again[name], value)
