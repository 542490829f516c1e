"""Programs that real Paddle made of single layers, run here: the same values and gradients."""

from pathlib import Path

import numpy as np
import paddle
import paddle.static as static
import pytest

import layer_programs
import rules

RECORDED = Path(__file__).parent / "recorded"
ROWS = [
    (era, name, inputs)
    for era in ("1.8.5", "2.6.2")
    for name, inputs, _ in layer_programs.rows(era)
]


@pytest.mark.parametrize("era, name, inputs", ROWS, ids=[f"{name}@{era}" for era, name, _ in ROWS])
def test_program(era, name, inputs):
    paddle.enable_static()
    with np.load(RECORDED / f"layers_{era}.npz") as recorded:
        expected = {
            key[len(name) + 1 :]: recorded[key] for key in recorded if key.startswith(name + "|")
        }
    program = static.Program.parse_from_string(expected.pop("program").tobytes())
    out = str(expected.pop("name"))
    fetches = {word: out if word == "out" else word for word in expected}
    feed = layer_programs.arrays_of(name, inputs)
    with static.scope_guard(static.Scope()):
        found = static.Executor(paddle.CPUPlace()).run(program, feed, list(fetches.values()))
    for (word, values), ours in zip(expected.items(), found):
        assert rules.same_shape(ours.shape, values.shape), f"{word}: {ours.shape}, {values.shape}"
        assert ours.dtype == values.dtype, f"{word}: {ours.dtype}, expected {values.dtype}"
        assert rules.relative_error(ours, values) < 1e-5, f"{word}: {ours}\nexpected\n{values}"
