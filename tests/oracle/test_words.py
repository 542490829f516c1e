"""Every recorded expression, evaluated here: values and gradients as real Paddle gave them."""

from pathlib import Path

import numpy as np
import pytest

import rules
import words

RECORDED = Path(__file__).parent / "recorded"
TOLERANCE = 1e-5

LINES = [(era, line) for era in ("2x", "1x") for line in words.lines(era)]
ANSWERS = {era: dict(np.load(RECORDED / f"words_{era}.npz")) for era in ("2x", "1x")}


@pytest.mark.parametrize("era, line", LINES, ids=[line for _, line in LINES])
def test_line(era, line):
    if not words.understood(era):
        pytest.skip("this paddle has no words of that era")
    expected = {
        key[len(line) + 1 :]: array
        for key, array in ANSWERS[era].items()
        if key.startswith(line + "|")
    }
    found = words.run(line)
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        ours = found[name]
        assert rules.same_shape(ours.shape, array.shape), f"{name}: {ours.shape}, {array.shape}"
        assert ours.dtype == array.dtype, f"{name}: {ours.dtype}, expected {array.dtype}"
        error = rules.relative_error(ours, array)
        assert error < TOLERANCE, f"{name}: relative error {error:.2g}\n{ours}\nexpected\n{array}"


def test_every_recording_has_a_line():
    for era, answers in ANSWERS.items():
        assert {key.rsplit("|", 1)[0] for key in answers} == set(words.lines(era))
