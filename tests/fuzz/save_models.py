#!/usr/bin/env python3
"""Writes the models of corpus/predictor: small ones, as both formats' save functions write them.

tests/fuzz/save_models.py
"""

import pathlib
import struct
import tempfile

import paddle
from paddle import fluid, static

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus" / "predictor"


def dense():
    x = static.data("x", [None, 4])
    hidden = static.nn.fc(x, 5, activation="relu")
    return [x], [paddle.nn.functional.softmax(static.nn.fc(hidden, 3))]


def convolution():
    image = static.data("image", [None, 2, 6, 6])
    hidden = static.nn.conv2d(image, 4, 3, padding=1, bias_attr=False)
    hidden = static.nn.batch_norm(hidden, act="relu", is_test=True)
    pooled = paddle.nn.functional.max_pool2d(hidden, 2)
    return [image], [static.nn.fc(pooled, 3), paddle.mean(pooled)]


def sequence():
    words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    rows = fluid.layers.embedding(words, size=[6, 4])
    return [words], [fluid.layers.fc(fluid.layers.sequence_pool(rows, "sum"), 2)]


def branch():
    x, y = static.data("x", [None, 3]), static.data("y", [None, 3])
    weight = static.create_parameter([3, 3], "float32")
    taken = static.nn.cond(paddle.mean(x) > 0, lambda: paddle.matmul(x, weight), lambda: x - y)
    return [x, y], [taken, paddle.argmax(taken, 1), paddle.concat([x[:, 1:], y], 1)]


def recurrent():
    x = fluid.layers.data("x", [4], lod_level=1)
    hidden, _ = fluid.layers.dynamic_lstm(fluid.layers.fc(x, 8), 8, use_peepholes=False)
    norm = fluid.layers.layer_norm(hidden)
    return [x], [fluid.layers.transpose(fluid.layers.reshape(norm, [-1, 1, 2]), [1, 0, 2])]


def loop():
    x = static.data("x", [None, 2])
    start = paddle.zeros([1], "int64")
    _, out = static.nn.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * 2], [start, x * 1.0])
    return [x], [out]


def write(build, fluid_format, folder):
    programs = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(*programs):
        paddle.seed(1)
        feeds, fetches = build()
        executor = static.Executor(paddle.CPUPlace())
        executor.run(programs[1])
        if fluid_format:
            names = [var.name for var in feeds]
            fluid.io.save_inference_model(folder, names, fetches, executor, params_filename="all")
            files = "__model__", "all"
        else:
            static.save_inference_model(f"{folder}/m", feeds, fetches, executor)
            files = "m.pdmodel", "m.pdiparams"
    found = [pathlib.Path(folder, file) for file in files]
    program, params = (path.read_bytes() if path.exists() else b"" for path in found)
    head = b"MODEL" + struct.pack("<I", len(program))
    (CORPUS / build.__name__).write_bytes(head + program + params)
    print(build.__name__, len(program), len(params))


def main():
    paddle.enable_static()
    CORPUS.mkdir(parents=True, exist_ok=True)
    for build in (dense, convolution, sequence, branch, recurrent, loop):
        with tempfile.TemporaryDirectory() as folder:
            write(build, build in (dense, sequence, recurrent), folder)


if __name__ == "__main__":
    main()
