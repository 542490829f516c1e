"""Every recorded operator case, run here: outputs and gradients as real Paddle gave them."""

import json
from pathlib import Path

import numpy as np
import pytest

import op_program
import rules

RECORDED = Path(__file__).parent / "recorded"
TOLERANCE = 1e-5


def load():
    cases, answers = [], {}
    for path in sorted(RECORDED.glob("ops_*.json")):
        cases += json.loads(path.read_text())
        with np.load(path.with_suffix(".npz")) as arrays:
            answers.update(arrays)
    return cases, answers


CASES, ANSWERS = load()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_op(case):
    found = op_program.run(case)
    for name in found:
        compare(case, name, found[name], expected_of(case, name))


def expected_of(case, name):
    """The recorded answer; a row-sparse one made dense, repeated rows summed."""
    key = case["name"] + "/" + name
    if name not in case.get("sparse", {}):
        return ANSWERS[key]
    rows, values = ANSWERS[key + ".rows"], ANSWERS[key + ".values"]
    dense = np.zeros(case["sparse"][name], values.dtype)
    np.add.at(dense, rows, values)
    return dense


def compare(case, name, found, expected):
    what = f"{case['name']}: {name}"
    assert rules.same_shape(found.shape, expected.shape), f"{what}: {found.shape}, {expected.shape}"
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, expected {expected.dtype}"
    error = rules.relative_error(found, expected)
    assert error < TOLERANCE, f"{what}: relative error {error:.2g}\n{found}\nexpected\n{expected}"
