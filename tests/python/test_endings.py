"""How a process ends while its threads are at work, and programs that grow while they run."""

import random
import signal
import subprocess
import sys
import time

import pytest
import watched

PRELUDE = """
import os, sys, threading, time
import numpy as np
import paddle
from paddle import static
paddle.enable_static()

def network(size=64):
    x = static.data("x", [None, size], "float32")
    hidden = x
    for _ in range(3):
        hidden = static.nn.fc(hidden, size)
    loss = paddle.mean(hidden)
    paddle.optimizer.SGD(0.01).minimize(loss)
    return loss
"""


def run(code, seconds=120):
    return watched.run([sys.executable, "-c", PRELUDE + code], seconds=seconds)


@pytest.mark.parametrize("steps", ["short", "long", "python"])
def test_the_main_thread_ends_while_a_daemon_runs_a_program(steps):
    """`short`: it is between two runs as often as inside; `long`: inside; `python`: in py_func."""
    code = """
size = {"short": 8, "long": 1024, "python": 8}["STEPS"]
loss = network(size)
begun = threading.Event()
if "STEPS" == "python":
    out = static.default_main_program().global_block().create_var(name="out", dtype="float32", shape=[1])
    def tell(value):
        begun.set()
        time.sleep(0.002)
        return np.array([1], "float32")
    loss = static.py_func(tell, loss, out)
exe = static.Executor()
exe.run(static.default_startup_program())

def train():
    feed = {"x": np.ones([size, size], "float32")}
    while True:
        exe.run(feed=feed, fetch_list=[loss])
        begun.set()

threading.Thread(target=train, daemon=True).start()
begun.wait()
time.sleep(0.05)
print("done", flush=True)
sys.exit(3)
"""
    for _ in range(5):
        done = run(code.replace("STEPS", steps))
        assert (done.returncode, done.stdout, done.stderr) == (3, "done\n", "")


def test_a_daemon_that_waits_for_ever_does_not_hold_up_the_end():
    """A run that takes longer than the end waits for: the exit code is the script's own."""
    done = run(
        """
x = static.data("x", [1], "float32")
out = static.default_main_program().global_block().create_var(name="out", dtype="float32", shape=[1])
begun = threading.Event()
def stay(value):
    begun.set()
    time.sleep(1000)
static.py_func(stay, x, out)
exe = static.Executor()
feed = {"x": np.ones([1], "float32")}
threading.Thread(target=lambda: exe.run(feed=feed, fetch_list=[out]), daemon=True).start()
begun.wait()
print("done")
sys.exit(4)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "done\n", "")


def test_a_program_may_grow_while_another_thread_runs_it():
    done = run(
        """
loss = network(16)
exe = static.Executor()
exe.run(static.default_startup_program())
main = static.default_main_program()
feed = {"x": np.ones([4, 16], "float32")}
stop = threading.Event()
errors = []

def train():
    try:
        while not stop.is_set():
            exe.run(main, feed=feed, fetch_list=[loss])
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads:
    thread.start()
with static.program_guard(main):
    for i in range(600):
        paddle.mean(static.data("x", [None, 16], "float32") * float(i))
stop.set()
for thread in threads:
    thread.join()
print(len(errors), errors[:1])
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 []\n", "")


def test_ctrl_c_during_the_import_does_not_crash():
    """At random moments of the import: it was interrupted, or it had ended before."""
    random.seed(3)
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "import paddle"], check=True)
    whole = time.monotonic() - begin
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); import paddle; paddle.enable_static()"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdout.readline()  # CPython itself may not be interrupted before
        time.sleep(random.uniform(0, whole))
        process.send_signal(signal.SIGINT)
        _, error = watched.communicate(process)
        # 0: it had ended; -2: before the interpreter handled signals, or by KeyboardInterrupt
        assert process.returncode in (0, 1, -signal.SIGINT, 130), (process.returncode, error)
        assert "Fatal" not in error and "terminate called" not in error, error
