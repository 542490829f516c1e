"""A global shuffle deals the records of all workers out anew."""

from job import Job

SCRIPT = """
    import numpy as np
    import paddle
    from paddle.distributed import fleet

    paddle.enable_static()
    np.random.seed(7)
    fleet.init(is_collective=True)
    rank = fleet.worker_index()
    x = paddle.static.data("x", [None, 1], "int64", lod_level=1)
    with open(f"part-{rank}", "w") as file:
        for i in range(60):
            print(1, 1000 * rank + i, file=file)
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=1, thread_num=1, pipe_command="cat", use_var=[x])
    dataset.set_filelist([f"part-{rank}"])
    dataset.load_into_memory()
    dataset.global_shuffle(fleet)
    run = dataset._core.start()
    records = []
    while (batch := run.next()) is not None:
        records.append(int(np.array(batch[0]).ravel()[0]))
    print("of all", dataset.get_memory_data_size(fleet), dataset.get_shuffle_data_size(fleet))
    print(*records)
"""


def run(folder):
    folder.mkdir()
    job = Job(folder, ["--nproc_per_node=3"], SCRIPT)
    assert job.wait() == 0, job.out + job.err
    lines = [job.log(f"workerlog.{rank}").splitlines() for rank in range(3)]
    assert [of_all for of_all, _ in lines] == ["of all 180 180"] * 3
    return [[int(word) for word in records.split()] for _, records in lines]


def test_records_of_all_workers_are_dealt_out_anew(tmp_path):
    first = run(tmp_path / "first")
    everything = sorted(record for records in first for record in records)
    assert everything == [1000 * rank + i for rank in range(3) for i in range(60)]
    for rank, records in enumerate(first):
        assert records != sorted(records)
        assert {record // 1000 for record in records} == {0, 1, 2}, f"of worker {rank}"
    assert run(tmp_path / "second") == first
