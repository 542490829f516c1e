"""Training from files prints what real Paddle prints, and learns what it learns."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import dataset_cases

RECORDED = json.loads((Path(__file__).parent / "recorded" / "datasets_2.6.2.json").read_text())
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


@pytest.mark.parametrize("name", dataset_cases.CASES)
def test_training_from_files_is_paddles(name):
    here, there = dataset_cases.run(*dataset_cases.CASES[name]), RECORDED[name]
    assert [NUMBER.sub("#", line) for line in here["lines"]] == [
        NUMBER.sub("#", line) for line in there["lines"]
    ]
    for mine, theirs in zip(here["lines"], there["lines"]):
        values = [[float(v) for v in NUMBER.findall(line)] for line in (mine, theirs)]
        np.testing.assert_allclose(*values, rtol=2e-4)
    for mine, theirs in zip(here["parameters"], there["parameters"]):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
