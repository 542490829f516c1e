"""The package imports and trains whatever the processor can do: kernels are held to FLT_MAX_ISA."""

import json
import os
import sys

import pytest
import watched

TRAIN = """
import json
import numpy as np
import paddle

paddle.enable_static()
paddle.seed(3)
x = paddle.static.data("x", [None, 1, 12, 12])
y = paddle.static.data("y", [None, 1], "int64")
hidden = paddle.static.nn.batch_norm(paddle.static.nn.conv2d(x, 8, 3), act="relu")
logits = paddle.static.nn.fc(hidden, 5)
loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, y))
paddle.optimizer.Adam(0.01).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(paddle.static.default_startup_program())
data = np.random.RandomState(1)
feed = {"x": data.rand(16, 1, 12, 12).astype("float32"), "y": data.randint(0, 5, (16, 1))}
print(json.dumps([float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(5)]))
"""


def run_with(isa):
    return watched.run(
        [sys.executable, "-c", TRAIN], env={**os.environ, "FLT_MAX_ISA": isa}, seconds=120
    )


def losses_with(isa):
    done = run_with(isa)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_instruction_set_trains_alike():
    plain = losses_with("sse41")
    assert plain[-1] < plain[0]
    for isa in ("avx2", "avx512"):
        assert losses_with(isa) == pytest.approx(plain, rel=1e-3)


def test_an_unknown_instruction_set_is_refused():
    done = run_with("mmx")
    assert done.returncode != 0
    assert "FLT_MAX_ISA" in done.stderr and "sse41, avx2" in done.stderr
