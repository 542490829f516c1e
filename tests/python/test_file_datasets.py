"""File data sets: QueueDataset, InMemoryDataset, train_from_dataset and infer_from_dataset."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import paddle
import pytest
import watched
from paddle import fluid, static

SIZES = (7, 0, 9, 5)  # records of the files
RECORDS = sum(SIZES)


class Clicks:
    """A small Wide&Deep: two slots of ids (sequences), one dense slot, a label."""

    def __init__(self, folder):
        rng = np.random.RandomState(3)
        self.samples = []
        self.files = []
        for number, size in enumerate(SIZES):
            lines = []
            for _ in range(size):
                a, b = (rng.randint(0, 50, rng.randint(1, 4)).tolist() for _ in range(2))
                x = [round(float(v), 3) for v in rng.rand(3)]
                self.samples.append((a, b, x, [int(rng.randint(2))]))
                slots = (f"{len(slot)} {' '.join(map(str, slot))}" for slot in self.samples[-1])
                lines.append(" ".join(slots) + "\n")
            file = folder / f"part-{number}"
            file.write_text("".join(lines))
            self.files.append(str(file))

        ids = [static.data(name, [None, 1], "int64", lod_level=1) for name in ("a", "b")]
        x = static.data("x", [None, 3], "float32")
        y = static.data("y", [None, 1], "int64")
        self.vars = [*ids, x, y]
        pooled = []
        for one in ids:
            rows = static.nn.embedding(one, [50, 4], is_sparse=True)
            pooled.append(static.nn.sequence_pool(paddle.reshape(rows, [-1, 4]), "sum"))
        hidden = static.nn.fc(paddle.concat([*pooled, x], axis=1), 8, activation="relu")
        self.logits = static.nn.fc(hidden, 2)
        self.loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(self.logits, y))
        paddle.optimizer.SGD(0.1).minimize(self.loss)
        self.executor = static.Executor(paddle.CPUPlace())
        self.start()

    def start(self):
        paddle.seed(5)
        self.executor.run(static.default_startup_program())

    def dataset(self, cls=paddle.distributed.QueueDataset, **settings):
        dataset = cls()
        dataset.init(**{"batch_size": 4, "use_var": self.vars, **settings})
        dataset.set_filelist(self.files)
        return dataset

    def parameters(self):
        scope = static.global_scope()
        names = sorted(p.name for p in static.default_main_program().all_parameters())
        return [np.array(scope.find_var(name).get_tensor()) for name in names]

    def by_hand(self, samples, batch_size=4):
        """A loop over Executor.run; the losses."""
        losses = []
        for begin in range(0, len(samples), batch_size):
            batch = samples[begin : begin + batch_size]
            feed = {}
            for slot, name in enumerate(("a", "b")):
                values = [value for sample in batch for value in sample[slot]]
                lengths = [[len(sample[slot]) for sample in batch]]
                flat = np.array(values, "int64").reshape(-1, 1)
                feed[name] = fluid.create_lod_tensor(flat, lengths, fluid.CPUPlace())
            feed["x"] = np.array([sample[2] for sample in batch], "float32")
            feed["y"] = np.array([sample[3] for sample in batch], "int64")
            losses.append(self.executor.run(feed=feed, fetch_list=[self.loss])[0].item())
        return losses


@pytest.fixture
def clicks(tmp_path):
    return Clicks(tmp_path)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b))


def batches(dataset):
    """The ids "a" of each batch, record by record."""
    found, run = [], dataset._core.start()
    while (batch := run.next()) is not None:
        ids, offsets = np.array(batch[0])[:, 0], batch[0].lod()[0]
        found.append([ids[i:j].tolist() for i, j in zip(offsets, offsets[1:])])
    return found


def flat(lists):
    return [one for some in lists for one in some]


# ---- the loop


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_one_thread_gives_the_bits_of_a_loop_by_hand(clicks, capsys, kind):
    losses = clicks.by_hand(clicks.samples) + clicks.by_hand(clicks.samples)
    expected = clicks.parameters()
    clicks.start()
    dataset = clicks.dataset(getattr(paddle.distributed, kind))
    if kind == "InMemoryDataset":
        dataset.load_into_memory()
    for _ in range(2):
        result = clicks.executor.train_from_dataset(
            dataset=dataset, fetch_list=[clicks.loss], fetch_info=["loss"], print_period=1
        )
        assert result is None
    assert same(clicks.parameters(), expected)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(losses)
    for i, (line, loss) in enumerate(zip(lines, losses)):
        batch = i % (len(losses) // 2) + 1
        pattern = r"time: \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\], batch: \[(\d+)\], loss\[1\]:\[(.*)\]"
        assert re.fullmatch(pattern, line).groups() == (str(batch), f"{loss:g}")


def test_what_programs_of_paddlerec_say(clicks):
    """``debug`` of a configuration without it; fields that are to be dumped."""
    main = static.default_main_program()
    main._fleet_opt["dump_fields_path"] = "dump"
    with pytest.warns(UserWarning, match="dumping fields is not implemented"):
        clicks.executor.train_from_dataset(main, clicks.dataset(), debug=None)
    main._fleet_opt["dump_fields_path"] = ""
    clicks.executor.train_from_dataset(main, clicks.dataset())
    assert static.Program()._fleet_opt == {}


def test_prints_every_period_what_fetch_info_names(clicks, capsys):
    clicks.executor.train_from_dataset(
        static.default_main_program(),
        clicks.dataset(),
        fetch_list=[clicks.loss, "y"],
        fetch_info=["loss is", "labels"],
        print_period=2,
        debug=True,
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 1
    assert "batch: [4], loss is[1]:[" in lines[1]
    labels = " ".join(str(sample[3][0]) for sample in clicks.samples[12:16])
    assert lines[1].endswith(f"labels[4]:[{labels}]")
    assert lines[3].startswith(f"thread 0: 6 batches, {RECORDS} samples, run ")


def test_names_of_variables_stand_in_for_fetch_info(clicks, capsys):
    clicks.executor.train_from_dataset(
        dataset=clicks.dataset(), fetch_list=[clicks.loss], print_period=6
    )
    assert f"batch: [6], {clicks.loss.name}[1]:[" in capsys.readouterr().out
    with pytest.raises(ValueError, match="fetch_info must name each of the 1 variables"):
        clicks.executor.train_from_dataset(
            dataset=clicks.dataset(), fetch_list=[clicks.loss], fetch_info=["a", "b"]
        )


def test_several_threads_train_one_set_of_parameters(clicks, capsys):
    before = clicks.parameters()
    dataset = clicks.dataset(thread_num=2)
    clicks.executor.train_from_dataset(dataset=dataset, debug=True)
    done = re.findall(r"thread \d+: \d+ batches, (\d+) samples", capsys.readouterr().out)
    assert len(done) == 2 and sum(map(int, done)) == RECORDS
    assert not any(np.array_equal(a, b) for a, b in zip(before, clicks.parameters()))
    # More threads than files cannot read.
    clicks.executor.train_from_dataset(dataset=dataset, thread=64, debug=True)
    assert len(re.findall("thread", capsys.readouterr().out)) == len(SIZES)


def test_inference_changes_nothing(clicks, capsys):
    before = clicks.parameters()
    clicks.executor.infer_from_dataset(
        dataset=clicks.dataset(), fetch_list=[clicks.loss], fetch_info=["loss"], print_period=3
    )
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert same(clicks.parameters(), before)


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_only_a_sample_in_each_line_is_read(clicks, kind):
    dataset = clicks.dataset(getattr(paddle.distributed, kind), input_type=1)
    said = "has input_type=1, but only 0 can be read: files with a sample in each line"
    reads = dataset.load_into_memory if kind == "InMemoryDataset" else None
    with pytest.raises(NotImplementedError, match=said):
        (reads or (lambda: clicks.executor.train_from_dataset(dataset=dataset)))()
    dataset._set_input_type(0)
    if reads:
        reads()
    clicks.executor.train_from_dataset(dataset=dataset)


def test_a_fetch_handler_sees_values(clicks):
    seen = []

    class Handler(fluid.executor.FetchHandler):
        def handler(self, res_dict):
            seen.append(res_dict)

    handler = Handler(var_dict={"loss": clicks.loss}, period_secs=1000)
    clicks.executor.train_from_dataset(dataset=clicks.dataset(), fetch_handler=handler)
    assert [list(values) for values in seen] == [["loss"]]
    assert np.isfinite(seen[0]["loss"]).all()
    with pytest.raises(ValueError, match="var_dict"):
        fluid.executor.FetchHandler()


def test_a_handler_that_raises_ends_the_run(clicks):
    class Handler(fluid.executor.FetchHandler):
        def handler(self, res_dict):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        clicks.executor.train_from_dataset(
            dataset=clicks.dataset(), fetch_handler=Handler({"loss": clicks.loss}, 0)
        )


# ---- bad input


def test_a_bad_line_is_named_or_skipped(clicks, tmp_path):
    (tmp_path / "bad").write_text("1 3 1 4 3 0 0 0 1 1\n1 3 1 x 3 0 0 0 1 1\n")
    clicks.files.append(str(tmp_path / "bad"))
    with pytest.raises(ValueError, match='bad: line 2, byte 26: slot b: expected .* found "x"'):
        clicks.executor.train_from_dataset(dataset=clicks.dataset())
    with pytest.raises(ValueError, match="line 2"):
        clicks.dataset(paddle.distributed.InMemoryDataset).load_into_memory()
    dataset = clicks.dataset(max_bad_records=1)
    clicks.executor.train_from_dataset(dataset=dataset)
    assert dataset.bad_records == 1


def test_refuses_what_cannot_be_read(clicks, tmp_path):
    dataset = clicks.dataset()
    dataset.set_filelist([])
    with pytest.raises(ValueError, match="empty list of files; name them with set_filelist"):
        clicks.executor.train_from_dataset(dataset=dataset)
    dataset.set_filelist([str(tmp_path / "nowhere")])
    with pytest.raises(ValueError, match="file 1 of 1 of the data set, .*nowhere.* does not exist"):
        clicks.executor.train_from_dataset(dataset=dataset)
    os.mkfifo(tmp_path / "pipe")  # nobody writes to it
    for name, kind in [("pipe", "a named pipe"), (".", "a directory"), ("/dev/zero", "a device")]:
        refusal = f"file 1 of 1 of the data set, .* is {kind}, but must be a file"
        for command in ["cat", "head -n 1"]:
            strange = clicks.dataset(pipe_command=command)
            strange.set_filelist([str(tmp_path / name)])
            with pytest.raises(ValueError, match=refusal):
                clicks.executor.train_from_dataset(dataset=strange)
            strange = clicks.dataset(paddle.distributed.InMemoryDataset, pipe_command=command)
            strange.set_filelist([str(tmp_path / name)])
            with pytest.raises(ValueError, match=refusal):
                strange.load_into_memory()
    with pytest.raises(TypeError, match="list of files"):
        dataset.set_filelist("part-0")
    with pytest.raises(RuntimeError, match="dataset must be a QueueDataset.*NoneType"):
        clicks.executor.train_from_dataset(dataset=None)
    memory = clicks.dataset(paddle.distributed.InMemoryDataset)
    with pytest.raises(ValueError, match="call load_into_memory"):
        clicks.executor.train_from_dataset(dataset=memory)
    memory.load_into_memory()
    memory.set_use_var(clicks.vars[:2])
    with pytest.raises(ValueError, match="changed after its records were loaded"):
        clicks.executor.train_from_dataset(dataset=memory)


def test_a_missing_parameter_is_named_with_the_batch(clicks):
    refusal = pytest.raises(ValueError, match="(?s)startup program first.*batch 1 of thread 0")
    with static.scope_guard(static.Scope()), refusal:
        clicks.executor.train_from_dataset(dataset=clicks.dataset())


# ---- pipe commands

GENERATOR = """
import sys
from paddle.distributed.fleet.data_generator import MultiSlotDataGenerator

class Reader(MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            words = line.split()
            n = int(words[0])
            yield [
                ("a", [int(w) for w in words[1:n + 1]]), ("b", [0]), ("x", [0.5, 0.0, 1.0]),
                ("y", [1]),
            ]
        return samples

Reader().run_from_stdin()
"""


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="needs a virtual environment")
def test_a_generator_is_a_pipe_command(clicks, tmp_path, monkeypatch):
    """Its "python" is ours, though nobody has activated the environment."""
    (tmp_path / "gen.py").write_text(GENERATOR)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    dataset = clicks.dataset(pipe_command=f"python {tmp_path / 'gen.py'}")
    dataset.set_filelist([clicks.files[0], clicks.files[2]])
    read = [sample[0] for sample in clicks.samples[:16]]
    assert flat(batches(dataset)) == read
    clicks.executor.train_from_dataset(dataset=dataset)


def test_a_command_that_is_killed_ends_the_run(clicks):
    dataset = clicks.dataset(pipe_command="head -n 1; echo goodbye >&2; kill -9 $$")
    with pytest.raises(ValueError, match="(?s)pipe command .* signal 9.*goodbye"):
        clicks.executor.train_from_dataset(dataset=dataset)


def test_ctrl_c_ends_a_run_and_all_it_started(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, sys, threading
            import paddle
            from paddle import static
            paddle.enable_static()
            x = static.data("x", [None, 1], "float32")
            static.nn.fc(x, 1)
            exe = static.Executor()
            exe.run(static.default_startup_program())
            data = paddle.distributed.QueueDataset()
            data.init(use_var=[x], pipe_command="cat; echo $$ > {tmp_path}/pid; exec sleep 1000")
            data.set_filelist(["{tmp_path}/one"])
            try:
                exe.train_from_dataset(dataset=data)
            except KeyboardInterrupt:
                print("interrupted", threading.active_count(), flush=True)
            """
        )
    )
    (tmp_path / "one").write_text("1 0.5\n")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)

    def reads():
        assert process.poll() is None
        return (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()

    watched.wait_until(reads, "nothing is read")
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = watched.communicate(process)
    assert out == "interrupted 1\n"
    assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def threads_since(before):
    """The threads that came after `before` and stay; one that was joined may still be listed for a moment."""
    end = time.monotonic() + watched.room(10)
    while (found := set(os.listdir("/proc/self/task")) - before) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_an_abandoned_pass_leaves_nothing(clicks):
    dataset = clicks.dataset(pipe_command="cat; sleep 1000", thread_num=3)
    before = set(os.listdir("/proc/self/task"))
    run = dataset._core.start()
    assert run.next() is not None
    del run
    assert not threads_since(before)
    memory = clicks.dataset(paddle.distributed.InMemoryDataset, pipe_command="sleep 1000")
    memory.preload_into_memory()
    del memory
    assert not threads_since(before)


def test_a_second_run_of_a_busy_executor_is_refused(clicks):
    dataset = clicks.dataset(pipe_command="cat; sleep 1")
    dataset.set_filelist(clicks.files[:1])
    thread = threading.Thread(target=clicks.executor.train_from_dataset, args=(None, dataset))
    thread.start()
    time.sleep(0.5)
    with pytest.raises(ValueError, match="already"):
        clicks.executor.train_from_dataset(dataset=clicks.dataset())
    thread.join()


# ---- in memory


def test_memory_holds_what_the_files_hold(clicks):
    dataset = clicks.dataset(paddle.distributed.InMemoryDataset, thread_num=3)
    assert dataset.get_memory_data_size() == 0
    dataset.load_into_memory()
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (RECORDS, 0)
    order = [sample[0] for sample in clicks.samples]
    assert flat(batches(dataset)) == order
    dataset.global_shuffle()
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (RECORDS, RECORDS)
    assert sorted(flat(batches(dataset))) == sorted(order)
    clicks.executor.train_from_dataset(dataset=dataset)
    assert dataset.get_memory_data_size() == RECORDS
    dataset.release_memory()
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (0, 0)
    dataset.preload_into_memory()
    dataset.wait_preload_done()
    assert flat(batches(dataset)) == order


def test_a_fleet_counts_the_records_of_all_its_processes(clicks):
    fleet = paddle.distributed.fleet.Fleet()
    fleet.init(is_collective=True)
    dataset = clicks.dataset(paddle.distributed.fleet.dataset.InMemoryDataset)
    dataset.load_into_memory()
    dataset.global_shuffle(fleet, thread_num=2)
    assert dataset.get_memory_data_size(fleet) == dataset.get_shuffle_data_size(fleet) == RECORDS


def test_shuffles_repeat(clicks):
    def order(seed=None, numpy_seed=None, shuffle="local_shuffle"):
        dataset = clicks.dataset(paddle.distributed.InMemoryDataset, seed=seed)
        if numpy_seed is not None:
            np.random.seed(numpy_seed)
        dataset.load_into_memory()
        getattr(dataset, shuffle)()
        return flat(batches(dataset))

    assert order(seed=1) == order(seed=1) == order(seed=1, shuffle="global_shuffle")
    assert order(seed=1) != order(seed=2)
    assert order(numpy_seed=4) == order(numpy_seed=4) != order(numpy_seed=5)
    dataset = clicks.dataset(paddle.distributed.InMemoryDataset)
    dataset.load_into_memory(is_shuffle=True)
    assert flat(batches(dataset)) != [sample[0] for sample in clicks.samples]


def test_slots_are_shuffled_and_come_back(clicks):
    dataset = clicks.dataset(paddle.distributed.InMemoryDataset, seed=3)
    dataset.load_into_memory()
    with pytest.raises(RuntimeError, match="set_fea_eval"):
        dataset.slots_shuffle(["a"])
    dataset.set_fea_eval(100, True)
    order = flat(batches(dataset))
    dataset.slots_shuffle(["a"])
    assert flat(batches(dataset)) != order
    assert sorted(flat(batches(dataset))) == sorted(order)
    dataset.slots_shuffle(["b"])
    assert flat(batches(dataset)) == order
    with pytest.raises(RuntimeError, match='no slot "aa"'):
        dataset.slots_shuffle(["aa"])


def test_ids_of_samples_are_passed_over(clicks, tmp_path):
    file = tmp_path / "with_ids"
    file.write_text("1 first 1 7 1 4 3 0 0 0 1 1\n1 second 2 8 9 1 4 3 0 0 0 1 1\n")
    dataset = clicks.dataset(paddle.distributed.InMemoryDataset, parse_ins_id=True)
    dataset.set_filelist([str(file)])
    dataset.load_into_memory()
    assert flat(batches(dataset)) == [[7], [8, 9]]
    dataset.set_filelist(clicks.files)
    with pytest.raises(ValueError, match="line 1, byte 0: expected 1 and a text"):
        dataset.load_into_memory()
    dataset.update_settings(parse_ins_id=False)
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == RECORDS


# ---- settings


def test_tables_are_read_without_a_command(tmp_path):
    x = static.data("x", [None, 2], "float32")
    y = static.data("y", [None, 1], "int64")
    (tmp_path / "t.csv").write_text("y,x_0,x_1\n3,0.5,1\n4,2,-1\n")
    dataset = paddle.distributed.QueueDataset()
    dataset.init(use_var=[x, y], batch_size=2)
    dataset.set_parser("csv", header=True)
    dataset.set_filelist([str(tmp_path / "t.csv")])
    batch = dataset._core.start().next()
    assert np.array(batch[0]).tolist() == [[0.5, 1], [2, -1]]
    assert np.array(batch[1]).tolist() == [[3], [4]]
    with pytest.raises(ValueError, match='"csv" has no option "heder"'):
        dataset.set_parser("csv", heder=True)
    with pytest.raises(ValueError, match="multi_slot"):
        dataset.set_parser("json")


def test_the_factory_and_the_words_of_1x(clicks):
    dataset = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_use_var(clicks.vars)
    dataset.set_batch_size(5)
    dataset.set_thread(2)
    dataset.set_pipe_command("cat")
    dataset.set_queue_num(4)
    dataset.set_fleet_send_batch_size(80)
    dataset.set_filelist(clicks.files)
    dataset.load_into_memory()
    assert [len(batch) for batch in batches(dataset)] == [5, 5, 5, 5, 1]
    assert 'slots { name: "a" type: "uint64" is_dense: false is_used: true }' in dataset.desc()
    instant = fluid.DatasetFactory.create_dataset("FileInstantDataset")
    assert isinstance(instant, fluid.dataset.FileInstantDataset)
    queue = fluid.DatasetFactory().create_dataset()
    assert isinstance(queue, fluid.dataset.QueueDataset)
    with pytest.raises(NotImplementedError, match="InMemoryDataset"):
        queue.local_shuffle()
    with pytest.raises(ValueError, match="QueueDataset, InMemoryDataset"):
        fluid.DatasetFactory().create_dataset("FileDataset")


def test_settings_are_checked(clicks):
    dataset = clicks.dataset(paddle.distributed.InMemoryDataset)
    dataset.update_settings(batch_size=2, thread_num=3, merge_size=0, fleet_send_batch_size=10)
    assert dataset.thread_num == 3
    with pytest.raises(ValueError, match="Did you mean 'batch_size'"):
        dataset.update_settings(bach_size=1)
    with pytest.raises(ValueError, match="batch_size must be positive"):
        dataset.update_settings(batch_size=0)
    with pytest.raises(NotImplementedError, match="merge_size=2 is not supported"):
        dataset._set_merge_by_lineid(2)
    dataset.set_hdfs_config("afs://x", "user,password")
    dataset.load_into_memory()  # files of this machine
    dataset.set_filelist(["afs:/part-0"])
    with pytest.raises(
        NotImplementedError, match="has the file 'afs:/part-0', but only local files"
    ):
        dataset.load_into_memory()
    with pytest.raises(ValueError, match="float32 and int64"):
        dataset.set_use_var([static.data("d", [None, 1], "float64")])


def test_settings_that_cannot_be_met_are_refused(clicks):
    dataset = clicks.dataset()
    with pytest.raises(ValueError, match="thread_num can be 1024 at most, but is 100000"):
        dataset.set_thread(100000)
    with pytest.raises(ValueError, match="the names of files must be UTF-8, but one is not"):
        dataset.set_filelist([b"part-\xff"])
    dataset.set_filelist([os.fsencode(file) for file in clicks.files])
    assert dataset.get_filelist() == clicks.files


def test_variables_are_compared_with_a_generator(clicks, tmp_path):
    class Generator:
        def __init__(self, sample):
            self.sample = sample

        def generate_sample(self, line):
            return lambda: [self.sample]

    good = [("a", [1]), ("b", [2]), ("x", [0.5, 1, 2.0]), ("y", [1])]
    check = clicks.dataset()._check_use_var_with_data_generator
    check(clicks.vars, Generator(good), clicks.files[0])
    with pytest.raises(ValueError, match="line 1: the generator makes 3 slots"):
        check(clicks.vars, Generator(good[:3]), clicks.files[0])
    with pytest.raises(ValueError, match="slot 'b' comes where use_var has 'a'"):
        check(clicks.vars, Generator([good[1], good[0], *good[2:]]), clicks.files[0])
    with pytest.raises(TypeError, match="slot 'y' holds 0.5"):
        check(clicks.vars, Generator([*good[:3], ("y", [0.5])]), clicks.files[0])
