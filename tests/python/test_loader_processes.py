"""Loaders that are abandoned, killed, slow or raise: nothing is left running, nothing hangs.

Each case runs in a process of its own, which prints what it saw; a time limit bounds it.
"""

import os
import signal
import subprocess
import sys
import time

import pytest
import watched

PRELUDE = """
import gc, os, signal, sys, threading, time
import numpy as np
import paddle
paddle.enable_static()

class Numbers(paddle.io.Dataset):
    def __init__(self, count=100):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, i):
        return np.float32([i]), np.int64([i])

def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read().split()

def workers():  # the children but for the shell that ends them with this process
    def name(pid):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    return [pid for pid in children() if name(pid) != "sh"]

def threads():
    return len(os.listdir("/proc/self/task"))

def descriptors():
    return len(os.listdir("/proc/self/fd"))

def settle(read, expected):
    end = time.monotonic() + 60
    while read() != expected and time.monotonic() < end:
        time.sleep(0.01)
    return read()
"""


def run(code, seconds=60):
    """The lines that a process with this program prints."""
    done = watched.run([sys.executable, "-c", PRELUDE + code], seconds=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


LEFT = """
before = threads(), descriptors()
loader = paddle.io.DataLoader({dataset}, batch_size=4, num_workers={workers})
for round in range(3):
    for batch in loader:
        break
del batch
gc.collect()
# numpy's own threads end at a fork and come back when it needs them, hence the max.
print(settle(children, []), settle(lambda: max(0, threads() - before[0]), 0),
      settle(descriptors, before[1]) - before[1])
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_leaving_a_loop_leaves_nothing(workers):
    assert run(LEFT.format(dataset="Numbers()", workers=workers)) == ["[] 0 0"]


def test_leaving_a_loop_over_a_set_in_memory_leaves_nothing():
    code = LEFT.format(dataset="paddle.io.TensorDataset([np.zeros([1000, 3])])", workers=0)
    assert run(code) == ["[] 0 0"]


def test_leaving_a_loop_over_a_generator_leaves_nothing():
    code = """
before = threads()
x = paddle.static.data("x", [None, 1])
loader = paddle.io.DataLoader.from_generator([x], capacity=2)
ended = []
def generator():
    try:
        while True:
            yield [np.zeros([2, 1], "float32")]
    finally:
        ended.append(True)
loader.set_batch_generator(generator)
for data in loader():
    break
del data
print(settle(threads, before) - before, ended)
"""
    assert run(code) == ["0 [True]"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_program_may_end_in_the_middle_of_a_pass(workers):
    code = f"""
loader = paddle.io.DataLoader(Numbers(10**6), batch_size=4, num_workers={workers})
batches = iter(loader)
next(batches)
print(" ".join(workers()))
"""
    (pids,) = run(code)
    assert len(pids.split()) == workers
    for pid in map(int, pids.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_that_is_killed_is_reported_at_once():
    code = """
class Slow(Numbers):
    def __getitem__(self, i):
        if i == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)

loader = paddle.io.DataLoader(Slow(), batch_size=4, num_workers=2)
begin = time.monotonic()
seen = 0
try:
    for batch in loader:
        seen += 1
except RuntimeError as error:
    print(seen, time.monotonic() - begin < 30, str(error).replace("worker 0", "worker "))
print(settle(children, []))
"""
    first, second = run(code)
    assert first[:1] in "012" and first[1:].startswith(" True worker  of a DataLoader (pid ")
    assert "was killed by signal 9 (SIGKILL)" in first
    assert second == "[]"


def test_a_worker_that_leaves_is_reported_with_its_status():
    code = """
class Leaves(Numbers):
    def __getitem__(self, i):
        os._exit(7)

try:
    list(paddle.io.DataLoader(Leaves(), num_workers=1))
except RuntimeError as error:
    print(error)
"""
    assert "exited with status 7" in run(code)[0]


def test_a_crash_shows_the_line_of_python():
    code = """
import ctypes
class Crashes(Numbers):
    def __getitem__(self, i):
        ctypes.string_at(0)

try:
    list(paddle.io.DataLoader(Crashes(), num_workers=1))
except RuntimeError as error:
    print("SIGSEGV" in str(error), "in __getitem__" in str(error))
"""
    assert run(code) == ["True True"]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_exception_arrives_with_its_type_and_traceback(workers):
    code = f"""
import traceback
class Raises(Numbers):
    def __getitem__(self, i):
        if i == 9:
            raise KeyError("no such sample")
        return super().__getitem__(i)

seen = 0
try:
    for batch in paddle.io.DataLoader(Raises(), batch_size=4, num_workers={workers}):
        seen += 1
except KeyError as error:
    text = traceback.format_exc()
    print(seen, error, "in __getitem__" in text)
print(settle(children, []))
"""
    assert run(code) == ["2 'no such sample' True", "[]"]


def test_a_generator_that_raises_is_heard_in_the_training_thread():
    code = """
import traceback
x = paddle.static.data("x", [None, 1])
y = paddle.sum(x)
def generator():
    yield [np.ones([2, 1], "float32")]
    raise ZeroDivisionError("in the generator")

loader = paddle.io.DataLoader.from_generator([x], capacity=2).set_batch_generator(generator)
try:
    for data in loader():
        print(len(data))
except ZeroDivisionError:
    print("in generator" in traceback.format_exc())

main = paddle.static.Program()
with paddle.static.program_guard(main):
    x = paddle.static.data("x", [None, 1])
    inside = paddle.io.DataLoader.from_generator([x], capacity=2, iterable=False)
    y = paddle.sum(x)
inside.set_batch_generator(generator)
executor = paddle.static.Executor()
inside.start()
try:
    while True:
        print(executor.run(main, fetch_list=[y])[0].item())
except ZeroDivisionError:
    print("in generator" in traceback.format_exc())
inside.reset()
"""
    assert run(code) == ["1", "True", "2.0", "True"]


def test_a_batch_that_takes_too_long_is_an_error():
    code = """
class Slow(Numbers):
    def __getitem__(self, i):
        time.sleep(60)

begin = time.monotonic()
try:
    list(paddle.io.DataLoader(Slow(), num_workers=1, timeout=1))
except RuntimeError as error:
    print("did not produce its batch within the timeout of 1 seconds" in str(error))
print(time.monotonic() - begin < 30, settle(children, []))
"""
    assert run(code) == ["True", "True []"]


@pytest.mark.parametrize("busy", [False, True])
def test_workers_end_with_their_parent(busy):
    code = f"""
class Slow(Numbers):
    def __getitem__(self, i):
        if {busy} and i > 4:
            while True:
                pass
        return super().__getitem__(i)

batches = iter(paddle.io.DataLoader(Slow(), batch_size=2, num_workers=2))
next(batches)
print(" ".join(workers()), flush=True)
time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code], stdout=subprocess.PIPE, text=True
    )
    workers = list(map(int, process.stdout.readline().split()))
    assert len(workers) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + watched.room(10)
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in workers if alive(pid)] == []


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_core_refuses_to_run_programs_in_a_worker():
    code = """
x = paddle.static.data("x", [None, 1])
y = paddle.sum(x)
executor = paddle.static.Executor()
executor.run(feed={"x": np.ones([2, 1], "float32")}, fetch_list=[y])

class Runs(Numbers):
    def __getitem__(self, i):
        return executor.run(feed={"x": np.ones([2, 1], "float32")}, fetch_list=[y])[0]

try:
    list(paddle.io.DataLoader(Runs(), num_workers=1))
except ValueError as error:
    print(error)
"""
    assert run(code)[0].startswith("worker 0 of a DataLoader cannot run programs")


def test_batches_of_workers_need_no_shared_memory_folder():
    code = """
class Large(Numbers):
    def __getitem__(self, i):
        return np.full([1 << 20], i, "float32")

held = list(paddle.io.DataLoader(Large(12), batch_size=4, num_workers=2))
with open("/proc/self/maps") as maps:
    print([batch.numpy()[:, 5].tolist() for batch in held], "/dev/shm" not in maps.read())
"""
    assert run(code) == [
        "[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]] True"
    ]


def test_workers_that_persist_serve_the_next_pass():
    code = """
loader = paddle.io.DataLoader(Numbers(10), batch_size=4, num_workers=2, persistent_workers=True)
for batch in loader:
    break
first = workers()
print(len(first), [batch[1].numpy().ravel().tolist() for batch in loader], workers() == first)
del loader, batch
gc.collect()
print(settle(children, []))
"""
    assert run(code) == ["2 [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] True", "[]"]
