"""Data that is not the same length on all workers ends for all at once, and nothing hangs."""

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


def run(folder, script, ranks=2):
    job = Job(folder, [f"--nproc_per_node={ranks}"], HEAD + script)
    assert job.wait() == 0, job.out + job.err
    job.assert_nothing_left()
    logs = [job.log(f"workerlog.{rank}").splitlines() for rank in range(ranks)]
    return [[line for line in log if "Find all_reduce operators" not in line] for log in logs]


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
    assert "rank 1" in job.err + job.log("workerlog.0")
