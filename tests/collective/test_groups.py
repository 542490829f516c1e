"""What workers say to each other: in groups of some, as objects, as ops of a program, and in error."""

from job import Job

HEAD = """
    import os
    import numpy as np
    import paddle
    import paddle.distributed as dist
    from paddle.distributed import fleet

    paddle.enable_static()
    fleet.init(is_collective=True)
    rank, size = fleet.worker_index(), fleet.worker_num()
"""

GROUPS = """
    low, high = dist.new_group([1, 0]), dist.new_group([2])
    mine = low if rank < 2 else high
    other = high if rank < 2 else low
    objects = []
    dist.all_gather_object(objects, {"rank": rank, "words": ["a"] * rank}, mine)
    assert [one["rank"] for one in objects] == mine.ranks, objects
    assert objects[-1]["words"] == ["a"] * mine.ranks[-1]
    dist.all_gather_object(objects, "nothing", other)
    dist.all_gather_object(objects, "nothing", other.id)
    assert len(objects) == mine.nranks
    told = [rank, "x" * rank]
    dist.broadcast_object_list(told, src=mine.ranks[-1], group=mine)
    assert told == [mine.ranks[-1], "x" * mine.ranks[-1]], told
    kept = ["mine"]
    dist.broadcast_object_list(kept, src=other.ranks[0], group=other.id)
    assert kept == ["mine"]
    value = np.array([float(rank + 1)])
    dist.all_reduce(value, group=mine.id)
    assert value[0] == 3
    try:
        dist.broadcast_object_list([1], src=2, group=low)
        raise AssertionError("2 is not in the group")
    except ValueError as error:
        assert "src=2 is not in the group of ranks [0, 1]" in str(error)
    print("done")
"""

# Everybody builds the same program but for what goes from worker to worker.
OPS = """
    exe = paddle.static.Executor()
    x = paddle.static.data("x", [2, 2])
    part = paddle.static.data("part", [1, 2])
    got = paddle.assign(part)
    dist.scatter(got, [x[0:1], x[1:2]] if rank == 1 else None, src=1)
    traded = []
    dist.alltoall([x[0:1], x[1:2]], traded)
    summed = paddle.assign(part)
    dist.reduce_scatter(summed, [x[0:1], x[1:2]])
    if rank == 0:
        dist.send(x, dst=1)
        came = x
    else:
        came = paddle.assign(x)
        dist.recv(came, src=0)
    feed = {"x": np.array([[1, 2], [3, 4]], "float32") * 10**rank, "part": np.zeros((1, 2), "float32")}
    values = exe.run(feed=feed, fetch_list=[got, *traded, summed, came])
    row = np.array([[[1, 2]], [[3, 4]]][rank], "float32")
    for value, expected in zip(values, [10 * row, row, 10 * row, 11 * row, [[1, 2], [3, 4]]]):
        np.testing.assert_array_equal(value, expected)
    print("done")
"""

# Without fleet: a startup program that makes its group by itself.
RINGS = """
    import os
    import numpy as np
    import paddle
    import paddle.fluid as fluid

    rank = int(os.environ["PADDLE_TRAINER_ID"])
    others = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
    mine = others.pop(rank)
    paddle.enable_static()
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        x = fluid.data("x", [2], "float32")
        block = startup.global_block()
        id = block.create_var(name="id", persistable=True, type=fluid.core.VarDesc.VarType.RAW)
        place = {"rank": rank, "endpoint": mine, "other_endpoints": others}
        block.append_op(type="c_gen_nccl_id", outputs={"Out": id}, attrs=place)
        ring = {"nranks": 2, "rank": rank, "ring_id": 0}
        block.append_op(type="c_comm_init", inputs={"X": id}, attrs=ring)
        total = main.global_block().create_var(name="total", dtype="float32", shape=[2])
        main.global_block().append_op(
            type="c_allreduce_sum", inputs={"X": x}, outputs={"Out": total}, attrs={"ring_id": 0}
        )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    got = exe.run(main, feed={"x": np.full(2, rank + 1, "float32")}, fetch_list=[total])[0]
    assert list(got) == [3, 3], got
    print("done")
"""

LENGTHS = """
    gathered = []
    dist.all_gather(gathered, np.zeros(4 - rank, "float32"))
"""

# The others wait until the first worker has written, whoever else is called in between.
SAVES = """
    import time
    x = paddle.static.data("x", [None, 4])
    loss = paddle.mean(paddle.static.nn.fc(x, 3))
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    if rank == 0:
        time.sleep(0.5)
    fleet.save_persistables(exe, "all")
    assert os.listdir("all"), "it waited"
    if fleet.is_first_worker():
        fleet.save_inference_model(exe, "first", ["x"], [loss])
        fleet.save_persistables(exe, "second")
    else:
        for _ in range(3):
            fleet.save_persistables(exe, "never")  # ends when the first worker leaves
    print("done")
"""


def run(folder, script, ranks, head=HEAD):
    job = Job(folder, [f"--nproc_per_node={ranks}"], head + script)
    assert job.wait() == 0, job.out + job.err
    job.assert_nothing_left()
    for rank in range(ranks):
        assert job.log(f"workerlog.{rank}").splitlines()[-1] == "done"


def test_groups_of_some_workers_exchange_objects(tmp_path):
    run(tmp_path, GROUPS, 3)


def test_calls_on_variables_are_ops(tmp_path):
    run(tmp_path, OPS, 2)


def test_a_startup_program_brings_workers_together(tmp_path):
    run(tmp_path, RINGS, 2, head="")


def test_lengths_that_differ_are_named_by_all(tmp_path):
    job = Job(tmp_path, ["--nproc_per_node=2"], HEAD + LENGTHS)
    assert job.wait() == 1
    said = "rank 0 calls all_gather of 16 bytes f32, but rank 1 all_gather of 12 bytes f32"
    assert any(said in job.log(f"workerlog.{rank}") for rank in range(2))
    assert said in job.err


def test_all_wait_for_the_first_worker_to_save(tmp_path):
    run(tmp_path, SAVES, 2)
    assert not (tmp_path / "never").exists() and (tmp_path / "second").exists()
