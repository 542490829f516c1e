"""Programs for tests in workers whose rows are on servers."""

import pytest
from job import Job

PROGRAM = """
    import os
    import numpy as np
    import paddle.fluid as fluid
    import paddle.distributed.fleet as fleet

    fleet.init()
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
    y = fluid.data("y", [None, 1], "int64")
    rows = fluid.layers.embedding(
        ids, [1000, 8], is_sparse=True, param_attr=fluid.ParamAttr(name="table")
    )
    chances = fluid.layers.fc(fluid.layers.sequence_pool(rows, "sum"), 2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(chances, y))
    accuracy = fluid.layers.accuracy(chances, y)
    test = fluid.default_main_program().clone(for_test=True)  # before minimize()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = os.environ["MODE"] != "sync"
    strategy.a_sync_configs = {"k_steps": 5 if os.environ["MODE"] == "geo" else 0}
    fleet.distributed_optimizer(fluid.optimizer.SGD(1.0), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        fleet.init_worker()
        random = np.random.RandomState(fleet.worker_index())

        def batch(size):
            keys = random.randint(0, 50, (size, 1))
            lengths = [[1] * size]
            return {
                "ids": fluid.create_lod_tensor(keys, lengths, fluid.CPUPlace()), "y": keys % 2
            }

        before = exe.run(test, feed=batch(200), fetch_list=[accuracy])[0]
        fleet.barrier_worker()
        for step in range(60):
            exe.run(feed=batch(32), fetch_list=[loss])
        later = fluid.default_main_program().clone(for_test=True)
        for program in (test, later):
            after = exe.run(program, feed=batch(200), fetch_list=[accuracy.name])[0]
            assert after > 0.95 and before < 0.8, (before, after)
        # What is saved has rows, and runs here without servers.
        fleet.barrier_worker()
        if fleet.is_first_worker():
            fluid.io.save_params(exe, "params", test)
            with fluid.scope_guard(fluid.Scope()):
                fluid.io.load_params(exe, "params", test)
                again = exe.run(test, feed=batch(200), fetch_list=[accuracy])[0]
                assert again > 0.95, again
                table = np.array(fluid.global_scope().find_var("table").get_tensor())
                assert table.shape == (1000, 8)
        fleet.stop_worker()
        fluid.io.save_vars(exe, "left", vars=["fc_0.w_0"])  # as it was when this worker left
        if os.environ["MODE"] != "geo":  # whose rows are here
            try:
                exe.run(test, feed=batch(2), fetch_list=[accuracy])
                raise SystemExit("servers answered after stop_worker()")
            except RuntimeError as error:
                assert "has left its servers" in str(error), error
"""


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_a_clone_from_before_minimize_asks_the_servers(tmp_path, mode):
    job = Job(tmp_path, ["--worker_num=2", "--server_num=2"], PROGRAM, MODE=mode)
    assert job.wait() == 0, job.err + job.out
