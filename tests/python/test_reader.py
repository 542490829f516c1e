"""Readers of the fluid era: what they yield, and that nothing of them is left behind."""

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback

import paddle
import paddle.fluid as fluid
import pytest
import watched
from paddle import reader as readers


def count(n):
    return lambda: iter(range(n))


def endless():
    i = 0
    while True:
        yield i
        i += 1


def fails_after(n):
    def reader():
        yield from range(n)
        raise KeyError("reader broke")

    return reader


def threads():
    return [t for t in threading.enumerate() if t.name == "paddle.reader"]


def children():
    """Processes whose parent is this one, zombies included."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid():
                found.append(int(entry))
    return found


@pytest.fixture(autouse=True)
def nothing_left():
    before = set(children())
    yield
    gc.collect()
    assert threads() == []
    assert set(children()) <= before


# ---- without threads


def test_batch():
    assert list(paddle.batch(count(5), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(paddle.batch(count(5), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    assert list(paddle.batch(count(0), 2)()) == []
    again = paddle.batch(count(3), batch_size=3)
    assert list(again()) == list(again()) == [[0, 1, 2]]
    assert fluid.io.batch is paddle.io.batch is paddle.batch
    with pytest.raises(ValueError, match="batch_size must be a positive whole number, but is 0"):
        paddle.batch(count(3), 0)


def test_shuffle_draws_from_random():
    random.seed(3)
    found = list(readers.shuffle(count(10), 4)())
    random.seed(3)
    parts = [list(range(0, 4)), list(range(4, 8)), [8, 9]]
    for part in parts:
        random.shuffle(part)
    assert found == sum(parts, [])
    assert list(readers.shuffle(count(0), 4)()) == []


def test_chain_map_firstn_cache():
    assert list(readers.chain(count(2), count(3))()) == [0, 1, 0, 1, 2]
    assert list(readers.map_readers(lambda a, b: a * b, count(4), count(3))()) == [0, 1, 4]
    assert list(readers.firstn(lambda: endless(), 3)()) == [0, 1, 2]
    calls = []

    def reader():
        calls.append(1)
        yield from range(3)

    cached = readers.cache(reader)
    assert list(cached()) == list(cached()) == [0, 1, 2] and calls == [1]


def test_compose():
    pairs = lambda: iter([(1, 2), (3, 4)])  # noqa: E731
    assert list(readers.compose(pairs, count(2))()) == [(1, 2, 0), (3, 4, 1)]
    assert list(readers.compose(pairs, count(5), check_alignment=False)()) == [(1, 2, 0), (3, 4, 1)]
    with pytest.raises(
        readers.ComposeNotAligned, match="reader 0 of 2 ended after 2, and reader 1"
    ):
        list(readers.compose(pairs, count(5))())
    assert issubclass(fluid.io.ComposeNotAligned, ValueError)


def test_aliases():
    assert all(getattr(fluid.io, name) is getattr(readers, name) for name in readers.__all__)


# ---- threads


def test_buffered_yields_everything_in_order():
    wrapped = readers.buffered(count(100), 7)
    assert list(wrapped()) == list(wrapped()) == list(range(100))


def test_buffered_reads_ahead_as_far_as_asked():
    read = []

    def reader():
        for i in range(100):
            read.append(i)
            yield i

    samples = readers.buffered(reader, 3)()
    next(samples)
    watched.wait_until(lambda: len(read) >= 5, "it does not read ahead")
    time.sleep(0.05)
    assert len(read) == 5  # one was taken, three wait, one is in the reader's hand
    samples.close()


@pytest.mark.parametrize("order", [True, False])
def test_xmap(order):
    wrapped = readers.xmap_readers(lambda x: x * x, count(200), 4, 5, order)
    found = list(wrapped())
    assert (found if order else sorted(found)) == [i * i for i in range(200)]


def test_xmap_in_order_with_mappers_of_uneven_speed():
    def slow(i):
        time.sleep(0.02 if i % 7 == 0 else 0)
        return i

    assert list(readers.xmap_readers(slow, count(50), 4, 3, order=True)()) == list(range(50))


def test_xmap_runs_mappers_side_by_side():
    together = threading.Barrier(3, timeout=60)  # none passes unless three are there

    def mapper(i):
        together.wait()
        return i

    assert sorted(readers.xmap_readers(mapper, count(9), 3, 3)()) == list(range(9))


WORKERS = [
    lambda reader: readers.buffered(reader, 2),
    lambda reader: readers.xmap_readers(lambda x: x, reader, 3, 2),
    lambda reader: readers.xmap_readers(lambda x: x, reader, 3, 2, True),
    lambda reader: readers.multiprocess_reader([reader, reader]),
    lambda reader: readers.multiprocess_reader([reader], use_pipe=False, queue_size=2),
    lambda reader: readers.buffered(readers.multiprocess_reader([reader]), 2),
    lambda reader: readers.multiprocess_reader([readers.buffered(reader, 2)]),
]


@pytest.mark.parametrize("wrap", WORKERS)
def test_a_reader_that_is_abandoned_leaves_nothing(wrap):
    for samples in [wrap(lambda: endless())() for _ in range(3)]:
        assert next(samples) == 0
        samples.close()
    for sample in wrap(lambda: endless())():
        if sample == 3:
            break
    wrap(lambda: endless())()  # never started


@pytest.mark.parametrize("wrap", WORKERS)
def test_an_error_arrives_behind_the_samples_with_its_traceback(wrap):
    found = []
    with pytest.raises(KeyError, match="reader broke") as error:
        for sample in wrap(fails_after(4))():
            found.append(sample)
    assert set(found) == {0, 1, 2, 3}
    text = "".join(traceback.format_exception(error.type, error.value, error.tb))
    assert 'raise KeyError("reader broke")' in text and "in reader" in text


@pytest.mark.parametrize("order", [True, False])
def test_an_error_of_a_mapper(order):
    def mapper(i):
        return 1 // (5 - i)

    with pytest.raises(ZeroDivisionError) as error:
        list(readers.xmap_readers(mapper, lambda: endless(), 3, 2, order)())
    assert "1 // (5 - i)" in "".join(traceback.format_tb(error.tb))


def test_a_forgotten_reader_closes_the_readers_below_it():
    closed = threading.Event()

    def reader():
        try:
            yield from endless()
        finally:
            closed.set()

    samples = readers.buffered(readers.buffered(reader, 2), 2)()
    next(samples)
    del samples
    assert closed.wait(60)


def test_a_program_may_end_in_the_middle():
    code = (
        "from paddle import reader as r, batch\n"
        "import itertools\n"
        "a = r.buffered(itertools.count, 3)()\n"
        "b = r.multiprocess_reader([itertools.count, itertools.count])()\n"
        "c = r.xmap_readers(str, itertools.count, 2, 2)()\n"
        "print(next(a), next(b), next(c))\n"
    )
    started = time.monotonic()
    done = watched.run([sys.executable, "-c", code])
    assert (done.stdout, done.stderr, done.returncode) == ("0 0 0\n", "", 0)
    assert time.monotonic() - started < watched.room(20)


# ---- processes


def test_multiprocess_reader_yields_everything():
    wrapped = readers.multiprocess_reader([count(50), count(30), count(0)])
    assert sorted(wrapped()) == sorted([*range(50), *range(30)])
    big = readers.multiprocess_reader([lambda: iter([b"x" * (1 << 22), (1, None)])])
    assert [len(big) for big in big()] == [1 << 22, 2]


def test_multiprocess_reader_runs_in_other_processes():
    reader = lambda: iter([os.getpid()])  # noqa: E731
    pids = list(readers.multiprocess_reader([reader, reader])())
    assert len({*pids, os.getpid()}) == 3


def test_multiprocess_reader_works_ahead(tmp_path):
    """Samples larger than a pipe do not stop a process, queue_size does."""

    def reader():
        for i in range(100):
            (tmp_path / str(i)).touch()
            yield bytes(1 << 20)

    samples = readers.multiprocess_reader([reader], queue_size=5)()
    next(samples)
    watched.wait_until(lambda: len(list(tmp_path.iterdir())) >= 6, "it does not read ahead")
    time.sleep(0.05)
    assert 6 <= len(list(tmp_path.iterdir())) <= 9
    samples.close()


def test_multiprocess_reader_refuses_what_cannot_work():
    with pytest.raises(ValueError, match="needs at least one reader, but the list is empty"):
        readers.multiprocess_reader([])
    with pytest.raises(TypeError, match="one of them cannot be pickled: .*lambda"):
        list(readers.multiprocess_reader([lambda: iter([lambda: 0])])())


def test_an_error_that_cannot_be_pickled():
    class Odd(Exception):
        pass

    def reader():
        yield 1
        raise Odd("gone wrong")

    with pytest.raises(RuntimeError, match=r"reader 1 of multiprocess_reader failed: .*gone wrong"):
        list(readers.multiprocess_reader([count(2), reader])())


@pytest.mark.parametrize(
    "number, words", [(signal.SIGKILL, "was killed by SIGKILL"), (0, "exited wi")]
)
def test_a_process_that_dies(number, words):
    def reader():
        yield 1
        time.sleep(0.1)
        os.kill(os.getpid(), number) if number else os._exit(7)

    with pytest.raises(RuntimeError, match=f"reader 0 of multiprocess_reader, process .*{words}"):
        list(readers.multiprocess_reader([reader, lambda: endless()])())


def test_a_process_that_does_not_listen_is_killed():
    def reader():
        yield 1
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        time.sleep(600)

    samples = readers.multiprocess_reader([reader])()
    next(samples)
    started = time.monotonic()
    samples.close()
    assert time.monotonic() - started < watched.room(10)


def test_processes_end_with_a_parent_that_is_killed():
    code = (
        "from paddle import reader as r\n"
        "import os, time\n"
        "def reader():\n"
        "    yield os.getpid()\n"
        "    time.sleep(600)\n"
        "for pid in r.multiprocess_reader([reader])():\n"
        "    print(pid, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as job:
        pid = int(job.stdout.readline())
        job.kill()
    deadline = time.monotonic() + watched.room(10)
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        with open(f"/proc/{pid}/stat") as stat:
            if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
        time.sleep(0.05)
    else:
        assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize(
    "wrapped",
    [
        "buffered(reader, 2)",
        "xmap_readers(str, reader, 2, 2)",
        "xmap_readers(str, reader, 2, 2, True)",
        "multiprocess_reader([reader, reader])",
    ],
)
def test_ctrl_c_ends_a_reader_that_waits(wrapped):
    code = (
        "from paddle.reader import *\n"
        "import os, time\n"
        "def reader():\n"
        "    yield os.getpid()\n"
        "    time.sleep(600)\n"
        f"for pid in {wrapped}():\n"
        "    print(pid, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        pids = [int(job.stdout.readline()) for _ in range(2 if "multi" in wrapped else 1)]
        time.sleep(0.2)
        started = time.monotonic()
        job.send_signal(signal.SIGINT)
        _, err = watched.communicate(job)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - started < watched.room(20)
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() - started < watched.room(20)
        time.sleep(0.01)
