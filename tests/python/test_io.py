"""Data sets, samplers and loaders: what they give, and that real Paddle gives the same."""

import json
from pathlib import Path

import loader_cases as cases
import numpy as np
import paddle
import pytest
from paddle import fluid, io, static

RECORDED = Path(__file__).resolve().parents[1] / "oracle" / "recorded"
PADDLE26 = json.loads((RECORDED / "loaders_2.6.2.json").read_text())
PADDLE18 = json.loads((RECORDED / "loaders_1.8.5.json").read_text())


class Numbers(io.Dataset):
    def __init__(self, count=11):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return np.float32([i]), np.int64([i])


class Stream(io.IterableDataset):
    def __init__(self, count=7):
        self.count = count

    def __iter__(self):
        info = io.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter([np.int64([i]) for i in range(first, self.count, step)])


def variables():
    return static.data("x", [None, 1]), static.data("y", [None, 1], "int64")


def labels(batches):
    """The second field of all batches, whatever form they have."""
    batches = [batch[0] if isinstance(batch[0], dict) else batch for batch in batches]
    return [
        np.array(batch["y"] if isinstance(batch, dict) else batch[1]).ravel().tolist()
        for batch in batches
    ]


# ---- orders, bit by bit as in Paddle


@pytest.mark.parametrize("name", [n for n in PADDLE26 if " " not in n])
def test_samplers_give_the_order_of_paddle(name):
    assert cases.sampled(cases.samplers()[name]) == PADDLE26[name]


@pytest.mark.parametrize("name", cases.DISTRIBUTED)
def test_distributed_batch_sampler_gives_the_batches_of_paddle(name):
    assert cases.distributed(*cases.DISTRIBUTED[name]) == PADDLE26[name]


class Stacked(io.TensorDataset):
    """The same samples, in memory."""

    def __init__(self):
        count = np.arange(11)
        super().__init__([count.astype("float32")[:, None], count[:, None]])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("dataset", [cases.numbers(), Stacked()], ids=["samples", "memory"])
def test_a_loader_gives_the_batches_of_paddle(dataset, workers):
    assert cases.loaded(dataset, workers) == PADDLE26[f"loader {workers}"]


# ---- what a loader yields


def test_a_feed_list_gives_feeds_that_a_program_takes(executor):
    x, y = variables()
    total = paddle.sum(x)
    loader = io.DataLoader(Numbers(), feed_list=[x, y], batch_size=4, drop_last=True)
    sums = []
    for data in loader():
        assert isinstance(data, list) and set(data[0]) == {"x", "y"}
        assert isinstance(data[0]["x"], fluid.LoDTensor) and data[0]["x"].shape() == [4, 1]
        sums.append(executor.run(feed=data, fetch_list=[total])[0].item())
    assert sums == [6.0, 22.0]


@pytest.mark.parametrize("workers", [0, 1])
def test_without_a_feed_list_the_structure_of_a_sample_is_kept(workers):
    class Structured(Numbers):
        def __getitem__(self, i):
            return {"image": np.float32([i, i]), "label": i, "name": f"n{i}", "pair": (i, 0.5)}

    (first, *_) = io.DataLoader(Structured(4), batch_size=2, num_workers=workers)
    assert first["image"].numpy().tolist() == [[0, 0], [1, 1]]
    assert first["label"].numpy().tolist() == [0, 1] and first["name"] == ["n0", "n1"]
    assert first["pair"][1].numpy().dtype == np.float64


def test_return_list_gives_lists_beside_a_feed_list():
    loader = io.DataLoader(Numbers(4), feed_list=list(variables()), return_list=True, batch_size=2)
    assert [len(batch) for batch in loader] == [2, 2]
    assert labels(loader) == [[0, 1], [2, 3]]


def test_return_list_false_needs_a_feed_list():
    with pytest.raises(ValueError, match="feed_list must name the variables"):
        io.DataLoader(Numbers(), return_list=False)


def test_a_loader_without_batches_gives_samples():
    samples = list(io.DataLoader(Numbers(3), batch_size=None))
    assert [sample[0].numpy().tolist() for sample in samples] == [[0.0], [1.0], [2.0]]


def test_several_places_get_a_feed_each():
    loader = io.DataLoader(
        Numbers(10), feed_list=list(variables()), places=fluid.cpu_places(2), batch_size=2
    )
    seen = [[feed["y"].numpy().ravel().tolist() for feed in feeds] for feeds in loader]
    assert seen == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_collate_fn_of_the_user(workers):
    loader = io.DataLoader(
        Numbers(4), batch_size=2, num_workers=workers,
        collate_fn=lambda samples: np.concatenate([image for image, _ in samples]),
    )  # fmt: skip
    assert [batch.numpy().tolist() for batch in loader] == [[0.0, 1.0], [2.0, 3.0]]


def test_batches_keep_their_values_while_they_are_held():
    memory = list(io.DataLoader(Stacked(), batch_size=2))
    samples = list(io.DataLoader(Numbers(), batch_size=2))
    workers = list(io.DataLoader(Numbers(), batch_size=2, num_workers=2))
    expected = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]
    assert labels(memory) == labels(samples) == labels(workers) == expected


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_an_iterable_set_is_shared_out_to_workers(workers):
    loader = io.DataLoader(Stream(), batch_size=2, num_workers=workers)
    seen = [batch.numpy().ravel().tolist() for batch in loader]
    assert sorted(sum(seen, [])) == list(range(7))
    if workers == 0:
        assert seen == [[0, 1], [2, 3], [4, 5], [6]]


def test_workers_know_who_they_are_and_differ_in_their_random_numbers():
    class Who(Numbers):
        def __getitem__(self, i):
            info = io.get_worker_info()
            return np.int64([info.id, info.num_workers, np.random.randint(1 << 30)])

    started = []
    loader = io.DataLoader(
        Who(4), batch_size=2, num_workers=2, worker_init_fn=lambda i: started.append(i)
    )
    first, second = (batch.numpy() for batch in loader)
    assert first[:, :2].tolist() == [[0, 2], [0, 2]] and second[:, :2].tolist() == [[1, 2], [1, 2]]
    assert len(set(first[:, 2]) | set(second[:, 2])) == 4
    assert started == [] and io.get_worker_info() is None


def test_a_worker_init_fn_that_raises_is_heard():
    def init(worker):
        raise OSError(f"no disk for worker {worker}")

    with pytest.raises(OSError, match="no disk for worker 0"):
        list(io.DataLoader(Numbers(), num_workers=1, worker_init_fn=init))


# ---- data sets


def test_data_sets_made_of_others():
    both = io.ComposeDataset([Numbers(3), Stacked_(3)])
    assert len(both) == 3 and [float(v[0]) for v in both[2]] == [2.0, 2.0, 4.0]
    joined = io.ConcatDataset([Numbers(3), Numbers(2)])
    assert len(joined) == 5 and [int(joined[i][1][0]) for i in (0, 2, 3, 4, -1)] == [0, 2, 0, 1, 1]
    assert [int(v[0]) for v in io.ChainDataset([Stream(2), Stream(3)])] == [0, 1, 0, 1, 2]
    part = io.Subset(Numbers(), [5, 3])
    assert len(part) == 2 and int(part[1][1][0]) == 3


class Stacked_(io.Dataset):  # noqa: N801
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return np.float32([2 * i])


def test_random_split_cuts_everything_once_and_repeats_for_a_seed():
    paddle.seed(4)
    parts = io.random_split(Numbers(), [4, 7])
    paddle.seed(4)
    again = io.random_split(Numbers(), [4, 7])
    assert [list(p.indices) for p in parts] == [list(p.indices) for p in again]
    assert sorted(sum((list(p.indices) for p in parts), [])) == list(range(11))
    assert [len(p) for p in io.random_split(Numbers(), [0.5, 0.5])] == [6, 5]
    with pytest.raises(ValueError, match=r"add up to 3, but the data set has 11 samples"):
        io.random_split(Numbers(), [1, 2])


def test_a_subset_of_a_set_in_memory_is_gathered():
    part = io.Subset(Stacked(), [5, 3, 8])
    assert labels(io.DataLoader(part, batch_size=2)) == [[5, 3], [8]]


REFUSALS = {
    "shuffle=True": lambda: io.DataLoader(Stream(), shuffle=True),
    "is not indexable": lambda: io.DataLoader(Stream(), batch_sampler=io.BatchSampler(Numbers())),
    "has no length": lambda: len(io.DataLoader(Stream())),
    "batch_size must be a number of at least 1": lambda: io.DataLoader(Numbers(), batch_size=0),
    "num_workers must be a number of at least 0": lambda: io.DataLoader(Numbers(), num_workers=-1),
    "must not be given together with": lambda: io.DataLoader(
        Numbers(), batch_sampler=io.BatchSampler(Numbers()), shuffle=True
    ),
    "must have the same first extent": lambda: io.TensorDataset([np.zeros(3), np.zeros(4)]),
    "either a dataset or a sampler": lambda: io.BatchSampler(),
    "does not define __getitem__": lambda: io.Dataset()[0],
    "rank must lie in": lambda: io.DistributedBatchSampler(Numbers(), 2, 2, rank=2),
}


@pytest.mark.parametrize("words", REFUSALS)
def test_refusals(words):
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=words):
        REFUSALS[words]()


# ---- wrong fields


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sample_of_a_wrong_shape_is_named(workers):
    class Wrong(Numbers):
        def __getitem__(self, i):
            return np.zeros([3], "float32"), np.int64([i])

    loader = io.DataLoader(Wrong(), feed_list=list(variables()), num_workers=workers)
    with pytest.raises(ValueError, match=r'field "x" .* must be f32\[-1, 1\].* but is f32\[1, 3\]'):
        next(iter(loader))


def test_a_sample_with_too_few_fields_is_refused():
    class Wrong(Numbers):
        def __getitem__(self, i):
            return (np.float32([i]),)

    loader = io.DataLoader(Wrong(), feed_list=list(variables()))
    with pytest.raises(ValueError, match=r"must have 2 fields.*\(x, y\), but has 1"):
        next(iter(loader))


def test_samples_that_differ_are_refused():
    class Wrong(Numbers):
        def __getitem__(self, i):
            return np.zeros([i + 1], "float32")

    with pytest.raises(
        ValueError, match=r"must have one shape, but this field has \[1\] and \[2\]"
    ):
        next(iter(io.DataLoader(Wrong(), batch_size=2)))


def test_a_generator_that_yields_wrong_batches_is_refused():
    loader = io.DataLoader.from_generator(list(variables()), capacity=2)
    loader.set_batch_generator(lambda: iter([[np.zeros([2, 1], "float64"), np.zeros([2, 1], int)]]))
    with pytest.raises(ValueError, match=r'field "x" .* must be f32\[-1, 1\].* but is f64\[2, 1\]'):
        next(iter(loader))
    loader.set_batch_generator(lambda: iter([[np.zeros([2, 1], "float32")]]))
    with pytest.raises(ValueError, match="must have 2 fields"):
        next(iter(loader))


# ---- generators


@pytest.mark.parametrize("name", PADDLE18)
def test_a_generator_gives_the_feeds_of_paddle(name):
    assert cases.fed(cases.generators()[name]) == PADDLE18[name]


def test_a_loader_feeds_variables_of_another_program():
    """The loader may be made after the program's guard was left."""
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x, y = fluid.data("x", [None, 2]), fluid.data("y", [None, 1], "int64")
    loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=4)
    loader.set_sample_generator(cases.samples, batch_size=3, places=fluid.CPUPlace())
    assert [feeds[0]["x"].shape() for feeds in loader()] == [[3, 2], [3, 2]]
    assert set(fluid.DataFeeder([x, "y"], None, program).feed([([1, 2], [0])])) == {"x", "y"}
    with pytest.raises(RuntimeError, match='the program has no variable "z"'):
        fluid.DataFeeder(["z"], None)


def test_a_generator_loader_gives_lists():
    loader = io.DataLoader.from_generator(capacity=2, return_list=True)
    loader.set_batch_generator(cases.batches, places=paddle.CPUPlace())
    assert [batch[0][1].numpy()[0, 0] for batch in loader] == [0, 1, 2]


def run_passes(loader, program, fetches, executor, passes=2):
    seen = []
    for _ in range(passes):
        loader.start()
        seen.append([])
        while True:
            try:
                seen[-1].append([v.ravel().tolist() for v in executor.run(program, None, fetches)])
            except fluid.core.EOFException:
                loader.reset()
                break
    return seen


@pytest.mark.parametrize("double_buffer", [True, False])
def test_a_program_reads_from_its_loader(executor, double_buffer):
    x, y = fluid.data("x", [None, 2]), fluid.data("y", [None, 1], "int64")
    loader = io.DataLoader.from_generator([x, y], 4, double_buffer, iterable=False)
    total = paddle.sum(x)
    loader.set_sample_generator(cases.samples, 3, drop_last=False)
    main = static.default_main_program()
    one_pass = [[[6.0], [0, 1, 2]], [[24.0], [3, 4, 5]], [[12.0], [6]]]
    assert run_passes(loader, main, [total, y], executor) == [one_pass, one_pass]
    ops = [op.type for op in main.global_block().ops]
    assert ops[: 2 + double_buffer] == [
        "create_py_reader", *["create_double_buffer_reader"] * double_buffer, "read"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="was not started"):
        executor.run(main, fetch_list=[total])
    fed = executor.run(main, {"x": np.ones([1, 2], "float32"), "y": [[1]]}, [total])
    assert fed[0].item() == 2


def test_eof_is_one_class_under_all_its_names():
    assert paddle.common_ops_import.core.EOFException is fluid.core.EOFException
    assert issubclass(fluid.core.EOFException, Exception)


def test_a_program_that_reads_trains_and_travels(executor):
    x, y = fluid.data("x", [None, 2]), fluid.data("y", [None, 1], "float32")
    loader = fluid.io.PyReader([x, y], 4, iterable=False)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
    fluid.optimizer.SGD(0.1).minimize(loss)
    executor.run(static.default_startup_program())

    def generator():
        for _ in range(30):
            yield np.ones([4, 2], "float32"), np.full([4, 1], 3, "float32")

    loader.decorate_batch_generator(generator)
    main = static.default_main_program()
    (losses,) = run_passes(loader, main, [loss], executor, passes=1)
    assert losses[-1][0][0] < 1e-3 < losses[0][0][0]
    back = static.Program.parse_from_string(main._serialize())
    assert [op.type for op in back.global_block().ops] == [
        op.type for op in main.global_block().ops
    ]
    (again,) = run_passes(loader, back, [loss.name], executor, passes=1)
    assert len(again) == 30


def test_the_reader_of_the_oldest_programs(executor):
    reader = fluid.layers.py_reader(4, [(-1, 2), (-1, 1)], ["float32", "int64"])
    x, y = fluid.layers.read_file(reader)
    total = fluid.layers.reduce_sum(x)
    executor.run(static.default_startup_program())
    assert reader.queue.size() == 0 and reader.queue.capacity() == 4
    reader.decorate_tensor_provider(cases.batches)
    main = static.default_main_program()
    assert run_passes(reader, main, [total], executor, 1) == [[[[0.0]], [[4.0]], [[8.0]]]]
    reader.decorate_paddle_reader(cases.lists)
    assert run_passes(reader, main, [y], executor, 1) == [[[[0, 1]], [[1, 2]], [[2, 3]]]]
    types = [op.type for op in static.default_startup_program().global_block().ops]
    assert types == ["create_py_reader"]


def test_two_programs_have_loaders_of_their_own(executor):
    programs, loaders, totals = [], [], []
    for factor in (1, 10):
        program = static.Program()
        with static.program_guard(program), paddle.utils.unique_name.guard():
            x = fluid.data("x", [None, 2])
            loader = io.DataLoader.from_generator([x], 2, iterable=False)
            loader.set_batch_generator(lambda f=factor: iter([[np.full([1, 2], f, "float32")]] * 2))
            totals.append(paddle.sum(x).name)
        programs.append(program)
        loaders.append(loader)
    for loader in loaders:
        loader.start()
    for program, total, expected in zip(programs, totals, (2, 20)):
        assert executor.run(program, fetch_list=[total])[0].item() == expected
    for loader in loaders:
        loader.reset()


def test_the_feeds_of_several_places_are_one_batch_for_a_parallel_program(executor):
    x, y = variables()
    total = paddle.sum(x)
    loader = io.DataLoader(Numbers(8), feed_list=[x, y], places=fluid.cpu_places(2), batch_size=2)
    program = fluid.CompiledProgram(static.default_main_program()).with_data_parallel(total.name)
    sums = [executor.run(program, feed=feeds, fetch_list=[total])[0].item() for feeds in loader]
    assert sums == [6.0, 22.0]
    with pytest.raises(ValueError, match="takes one batch at a time"):
        executor.run(feed=next(iter(loader)), fetch_list=[total])


def test_a_loader_of_a_file_data_set(executor, tmp_path):
    file = tmp_path / "part"
    file.write_text("".join(f"1 {i} 2 {i} {i}\n" for i in range(5)))
    y = static.data("y", [None, 1], "int64")
    x = static.data("x", [None, 2])
    total = paddle.sum(x)
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=2, thread_num=1, use_var=[y, x])
    dataset.set_filelist([str(file)])
    for drop_last, expected in ((True, [2.0, 10.0]), (False, [2.0, 10.0, 8.0])):
        loader = io.DataLoader.from_dataset(dataset, paddle.CPUPlace(), drop_last)
        for _ in range(2):
            sums = [executor.run(feed=data, fetch_list=[total])[0].item() for data in loader()]
            assert sums == expected
