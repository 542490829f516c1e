"""Data that is not the same length on all workers ends for all at once, and nothing hangs."""

import json

import numpy as np
from job import Job

HEAD = """
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    rank = fleet.worker_index()
    x = paddle.static.data("x", [None, 4])
    loss = paddle.mean(paddle.static.nn.fc(x, 3))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    main = paddle.static.default_main_program()
    test = main.clone(for_test=True)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())

    def batches(count):
        return lambda: (np.ones((2, 4), "float32") for _ in range(count))
"""

LOADER = """
    loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4)
    loader.set_batch_generator(batches(30 if rank == 1 else 33))
    for epoch in range(2):
        done = 0
        for feed in loader():
            exe.run(main, feed=feed)
            done += 1
        print("epoch", epoch, "steps", done)
"""

# Only the first worker evaluates: its loader must not ask anybody.
EVALUATION = """
    train = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4)
    train.set_batch_generator(batches(5 + rank))
    for feed in train():
        exe.run(main, feed=feed)
        if rank == 0:
            held_out = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4)
            held_out.set_batch_generator(batches(3))
            for feed in held_out():
                exe.run(test, feed=feed, fetch_list=[loss])
    print("done")
"""


# A loader that is part of the program, and a data set that the executor runs.
INSIDE = """
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        x = paddle.static.data("x", [None, 4])
        loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4, iterable=False)
        loss = paddle.mean(paddle.static.nn.fc(x, 3))
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
        exe.run(paddle.static.default_startup_program())
        loader.set_batch_generator(batches(7 - 3 * rank))
        loader.start()
        steps = 0
        try:
            while True:
                exe.run(fetch_list=[loss])
                steps += 1
        except paddle.fluid.core.EOFException:
            loader.reset()
    print("steps", steps)

    with open(f"part-{rank}", "w") as file:
        file.write("4 1 2 3 4\\n" * (6 + 2 * rank))
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=1, thread_num=1, pipe_command="cat", use_var=[main.global_block().var("x")])
    dataset.set_filelist([f"part-{rank}"])
    exe.train_from_dataset(main, dataset)
    print("done")
"""


# Averaged over samples, a worker without data goes on without weight. Every worker takes the samples
# of its rank in turn; the losses of all steps are those of one worker that has all of them.
SAMPLES = """
    import json
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    rank, size = fleet.worker_index(), fleet.worker_num()
    strategy = fleet.DistributedStrategy()
    strategy.gradient_scale_configs = {"scale_strategy": "samples"}
    x = paddle.static.data("x", [None, 4])
    y = paddle.static.data("y", [None, 1])
    out = paddle.static.nn.fc(x, 1, weight_attr=paddle.nn.initializer.Constant(0.1))
    loss = paddle.mean(paddle.nn.functional.square_error_cost(out, y))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    data = np.random.RandomState(3).rand(10, 6, 5).astype("float32")

    # Of 10 steps, worker 1 has 7; its batches are shorter, too.
    def mine(step):
        parts = [data[step, :4], data[step, 4:] if step < 7 else data[step, :0]]
        rows = np.concatenate(parts) if size == 1 else parts[rank]
        return rows[:, :4], rows[:, 4:]

    count = 7 if rank == 1 else 10
    loader = paddle.io.DataLoader.from_generator(feed_list=[x, y], capacity=2)
    loader.set_batch_generator(lambda: (mine(step) for step in range(count)))
    for epoch in range(2):
        done = 0
        for feed in loader():
            exe.run(feed=feed)
            done += 1
        print("epoch", epoch, "steps", done)
    (weight,) = [p.name for p in paddle.static.default_main_program().all_parameters() if "w_" in p.name]
    print(json.dumps(np.array(paddle.static.global_scope().find_var(weight).get_tensor()).tolist()))
"""

# The same for a loader inside of the program and for a data set, where a worker may have nothing.
SAMPLES_INSIDE = """
    strategy = fleet.DistributedStrategy()
    strategy.gradient_scale_configs = {"scale_strategy": "samples"}
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        x = paddle.static.data("x", [None, 4])
        loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4, iterable=False)
        loss = paddle.mean(paddle.static.nn.fc(x, 3))
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
        exe.run(paddle.static.default_startup_program())
        loader.set_batch_generator(batches(7 - 7 * rank))
        loader.start()
        steps = 0
        try:
            while True:
                exe.run(fetch_list=[loss])
                steps += 1
        except paddle.fluid.core.EOFException:
            loader.reset()
    print("steps", steps)

    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        x = paddle.static.data("x", [None, 4])
        loss = paddle.mean(paddle.static.nn.fc(x, 3))
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
        exe.run(paddle.static.default_startup_program())
        with open(f"part-{rank}", "w") as file:
            file.write("4 1 2 3 4\\n" * (6 * rank))
        dataset = paddle.distributed.QueueDataset()
        dataset.init(batch_size=1, thread_num=1, pipe_command="cat", use_var=[x])
        dataset.set_filelist([f"part-{rank}"])
        exe.train_from_dataset(paddle.static.default_main_program(), dataset)
    print("done")
"""

# Somebody changes a parameter on one worker behind the program's back.
CHANGED = """
    loader = paddle.io.DataLoader.from_generator(feed_list=[x], capacity=4)
    loader.set_batch_generator(batches(5))
    name = main.all_parameters()[0].name
    for epoch in range(2):
        for feed in loader():
            exe.run(main, feed=feed)
        print("epoch", epoch, flush=True)
        if rank == 1:
            tensor = paddle.static.global_scope().find_var(name).get_tensor()
            tensor.set(np.array(tensor) + 1, paddle.CPUPlace())
"""


def run(folder, script, ranks=2, head=HEAD):
    job = Job(folder, [f"--nproc_per_node={ranks}"], head + script)
    assert job.wait() == 0, job.out + job.err
    job.assert_nothing_left()
    logs = [job.log(f"workerlog.{rank}").splitlines() for rank in range(ranks)]
    others = ("Find all_reduce operators", " workers train one model")
    return [[line for line in log if not any(o in line for o in others)] for log in logs]


def test_loaders_end_together(tmp_path):
    first, second = run(tmp_path, LOADER)
    line = "All 2 workers end the pass after 30 batches: worker 1 had no more"
    assert first == [line, "epoch 0 steps 30", line, "epoch 1 steps 30"]
    assert second == ["epoch 0 steps 30", "epoch 1 steps 30"]


def test_loaders_of_programs_and_data_sets_end_together(tmp_path):
    for lines in run(tmp_path, INSIDE):
        assert lines[0] == "steps 4"
        assert lines[-1] == "done"


def test_a_loader_of_one_worker_asks_nobody(tmp_path):
    first, second = run(tmp_path, EVALUATION)
    assert first[-1] == second[-1] == "done"


def test_a_worker_that_leaves_early_is_named(tmp_path):
    script = """
    for step in range(20 if rank == 1 else 23):
        exe.run(main, feed={"x": np.ones((2, 4), "float32")})
    """
    job = Job(tmp_path, ["--nproc_per_node=2"], HEAD + script)
    assert job.wait() != 0
    job.assert_nothing_left()
    said = "worker 1 ended after 20 steps while worker 0 was in step 21"
    assert said in job.err and said in job.log("workerlog.0")


def test_a_worker_without_data_goes_on_without_weight(tmp_path):
    for ranks in (1, 2):
        (tmp_path / str(ranks)).mkdir()
    (one,) = run(tmp_path / "1", SAMPLES, 1, "")
    first, second = run(tmp_path / "2", SAMPLES, 2, "")
    line = (
        "All 2 workers end the pass after 10 steps, of which those without a batch did not count: "
        "10 of worker 0, 7 of worker 1"
    )
    assert first[:-1] == [line, "epoch 0 steps 10", line, "epoch 1 steps 10"]
    assert second[:-1] == ["epoch 0 steps 10", "epoch 1 steps 10"]
    assert first[-1] == second[-1]
    np.testing.assert_allclose(json.loads(first[-1]), json.loads(one[-1]), rtol=1e-5)


def test_workers_without_any_data_go_on_in_programs_and_data_sets(tmp_path):
    for lines in run(tmp_path, SAMPLES_INSIDE):
        assert lines[0] == "steps 7"
        assert lines[-1] == "done"


def test_a_parameter_that_one_worker_changed_is_named(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], HEAD + CHANGED)
    assert job.wait() != 0
    job.assert_nothing_left()
    said = 'parameter "fc_0.w_0" has different values on rank 1 than on rank 0'
    # All ranks say it, but the first that ends may cut another short.
    assert said in job.log("workerlog.0") + job.log("workerlog.1")
    assert "epoch 0" in job.log("workerlog.1") and "epoch 1" not in job.log("workerlog.1")


def test_parameters_are_not_compared_where_nobody_wants_it(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], HEAD + CHANGED, FLT_COMPARE_PARAMETERS="0")
    assert job.wait() == 0, job.err
    assert "epoch 1" in job.log("workerlog.1")
