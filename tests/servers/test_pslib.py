"""Programs of 1.8 that train by pslib."""

from job import Job

PROGRAM = """
    import os
    import numpy as np
    import paddle.fluid as fluid
    from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
    from paddle.fluid.incubate.fleet.parameter_server.pslib import fleet

    fleet.init(PaddleCloudRoleMaker())
    ids = fluid.layers.data("ids", [1], dtype="int64", lod_level=1)
    y = fluid.layers.data("y", [1], dtype="int64")
    rows = fluid.layers.embedding(
        ids, [1000, 8], is_sparse=True, is_distributed=True, param_attr=fluid.ParamAttr("emb")
    )
    hidden = fluid.layers.fc(fluid.layers.sequence_pool(rows, "sum"), 16, act="relu")
    chances = fluid.layers.fc(hidden, 2, act="softmax")
    cost = fluid.layers.mean(fluid.layers.cross_entropy(chances, y))
    optimizer = fleet.distributed_optimizer(fluid.optimizer.Adam(0.01), strategy=STRATEGY)
    optimizer.minimize([cost], [fluid.global_scope()])
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        fleet.init_worker()
        random = np.random.RandomState(fleet.worker_index())

        def train(steps):
            costs = []
            for step in range(steps):
                keys = random.randint(0, 200, [64, 1])
                feed = {
                    "ids": fluid.create_lod_tensor(keys, [[1] * 64], fluid.CPUPlace()),
                    "y": keys % 2,
                }
                costs.append(exe.run(fleet.main_program, feed=feed, fetch_list=[cost])[0][0])
            return costs

        if os.path.exists("model"):
            fleet.init_server("model", mode=0)
            costs = train(9)
            assert np.mean(costs) < 0.6, costs  # as the job before has left it
        else:
            costs = train(80)
            assert np.mean(costs[-9:]) < 0.8 * np.mean(costs[:9]), costs
            fleet.shrink_sparse_table()
            fleet.save_persistables(exe, "model", mode=0)
        fleet.stop_worker()
"""


def test_a_program_of_pslib(tmp_path):
    """A job trains and saves, another goes on; both end by themselves."""
    script = PROGRAM.replace("STRATEGY", '{"use_cvm": False, "emb": {"sparse_embedx_dim": 8}}')
    for servers in (2, 1):
        job = Job(tmp_path, ["--worker_num=2", f"--server_num={servers}"], script)
        assert job.wait() == 0, job.err
        assert (tmp_path / "model" / "fc_0.w_0").exists()


def test_words_of_a_strategy(tmp_path):
    """What has no effect is said; what is no word is refused."""
    odd = '{"fs_uri": "afs://x", "emb": {"sparse_embedx_dim": 8}}'
    wrong = '{"emb": {"sparse_embedx_dims": 8}}'
    for words, code, said in [
        (odd, 0, 'strategy["fs_uri"]'),
        (wrong, 1, 'Did you mean "sparse_embedx_dim"'),
    ]:
        folder = tmp_path / str(code)
        folder.mkdir()
        job = Job(folder, ["--worker_num=1", "--server_num=1"], PROGRAM.replace("STRATEGY", words))
        assert job.wait() == code, job.err
        # The first process that refuses ends the job: it may be the server.
        assert said in job.log("workerlog.0") + job.log("serverlog.0")


SUMMARIES = """
    import numpy as np
    import paddle.fluid as fluid
    from paddle.fluid.incubate.fleet.base.role_maker import PaddleCloudRoleMaker
    from paddle.fluid.incubate.fleet.parameter_server.pslib import fleet

    fleet.init(PaddleCloudRoleMaker())
    x = fluid.data("x", [None, 2])
    first = {"batch_size": 100.0, "batch_sum": 0.0, "batch_square": 100.0}
    normed = fluid.layers.data_norm(x, name="norm", param_attr=first, epsilon=0.0)
    cost = fluid.layers.mean(fluid.layers.fc(normed, 1))
    fleet.distributed_optimizer(fluid.optimizer.Adam(0.01)).minimize([cost])
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        fleet.init_worker()
        rows = np.array([[1, 2], [3, 6]], "float32")
        for _ in range(50):
            exe.run(fleet.main_program, feed={"x": rows}, fetch_list=[cost])
        fleet.save_persistables(exe, "model")
        exe.run(fleet.main_program, feed={"x": rows}, fetch_list=[cost])
        sums = [
            np.array(fluid.global_scope().find_var("norm." + word).get_tensor())
            for word in ("batch_size", "batch_sum", "batch_square_sum")
        ]
        batches = (sums[0] - 100) / 2  # some may still be on their way
        assert (batches > 20).all() and (batches < 52).all(), sums
        assert np.allclose(sums[1], batches * [4, 8], rtol=0.1), sums
        assert (sums[2] > 100).all(), sums
        fleet.stop_worker()
"""


def test_servers_add_up_the_summaries_of_data_norm(tmp_path):
    """Fifty batches of two rows are added to a hundred rows that the summaries start with."""
    job = Job(tmp_path, ["--worker_num=1", "--server_num=1"], SUMMARIES)
    assert job.wait() == 0, job.log("workerlog.0")
