"""Workers of servers that wait for each other: rounds go on without those who wait."""

from job import Job

# Worker 1 has more records than worker 0, and reads them before anything is shuffled.
SCRIPT = """
    import os, pathlib, signal, sys
    import numpy as np
    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    fleet.init()
    x, y = paddle.static.data("x", [None, 2]), paddle.static.data("y", [None, 1])
    loss = paddle.mean(paddle.nn.functional.square_error_cost(paddle.static.nn.fc(x, 1), y))
    strategy = fleet.DistributedStrategy()
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        sys.exit()
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    me = fleet.worker_index()
    records = [f"2 {i} {me} 1 {i + me}" for i in range(20 + 20 * me)]
    part = pathlib.Path(f"part{me}")
    part.write_text("\\n".join(records))
    data = fleet.InMemoryDataset()
    data.init(batch_size=5, thread_num=1, use_var=[x, y], pipe_command="cat")
    data.set_filelist([str(part)])
    data.load_into_memory()
    if os.environ.get("SHUFFLES") == "first":
        data.global_shuffle(fleet)
    exe.train_from_dataset(paddle.static.default_main_program(), data)
    if "KILL" in os.environ and me == 1 and os.environ["FLT_ATTEMPT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("SHUFFLES") == "between":
        data.global_shuffle(fleet)
        exe.train_from_dataset(paddle.static.default_main_program(), data)
    total = fleet.util.all_reduce(np.array([data.get_memory_data_size()]), "sum")
    print("records:", data.get_memory_data_size(), "of", total[0], flush=True)
    fleet.stop_worker()
"""
COUNTS = ["--worker_num=2", "--server_num=2"]


def last_lines(job, *logs):
    return [job.log(name).splitlines()[-1] for name in logs]


def test_a_worker_with_fewer_batches_waits_without_being_waited_for(tmp_path):
    job = Job(tmp_path, COUNTS, SCRIPT)
    assert job.wait() == 0, job.err
    assert last_lines(job, "workerlog.0", "workerlog.1") == [
        "records: 20 of 60",
        "records: 40 of 60",
    ]


def test_records_are_shuffled_between_uneven_passes(tmp_path):
    job = Job(tmp_path, COUNTS, SCRIPT, SHUFFLES="between")
    assert job.wait() == 0, job.err
    lines = last_lines(job, "workerlog.0", "workerlog.1")
    shares = [int(line.split()[1]) for line in lines]
    assert sum(shares) == 60 and shares[0] != 20, lines


def test_a_worker_that_is_started_again_shuffles_alone(tmp_path):
    job = Job(tmp_path, [*COUNTS, "--max_restart=1"], SCRIPT, SHUFFLES="first", KILL="1")
    assert job.wait() == 0, job.err
    log = job.log("workerlog.1.1")
    assert "worker 1 was started again: it reads and shuffles its own records alone" in log
    assert log.splitlines()[-1].startswith("records: 40 of"), log
