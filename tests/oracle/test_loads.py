"""Programs with unusual slots, element types or sequences: as Paddle 1.8 wrote them, and as built here.

Two steps of training give what Paddle gave: values, sequences and parameters.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import rules

if importlib.util.find_spec("paddle.fluid") is None:
    pytest.skip("this paddle has no fluid", allow_module_level=True)

import load_cases  # noqa: E402
import paddle.fluid as fluid  # noqa: E402

RECORDED = Path(__file__).parent / "recorded" / "loads_1.8.5.npz"
ABOUT_THE_PROGRAM = ("main", "startup", "fetches", "trained")


def recorded(name):
    with np.load(RECORDED) as arrays:
        prefix = f"{name}/"
        return {k[len(prefix) :]: arrays[k] for k in arrays.files if k.startswith(prefix)}


def compare(name, program, answers):
    found = load_cases.train(name, *program)
    expected = {key: value for key, value in answers.items() if key not in ABOUT_THE_PROGRAM}
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].shape == value.shape, key
        assert rules.relative_error(found[key], value) < 1e-4, key


@pytest.mark.parametrize("name", load_cases.CASES)
def test_serialized_there(name):
    answers = recorded(name)
    programs = [fluid.Program.parse_from_string(answers[p].tobytes()) for p in ("main", "startup")]
    names = [answers[part].tolist() for part in ("fetches", "trained")]
    compare(name, programs + names, answers)


@pytest.mark.parametrize("name", load_cases.CASES)
def test_built_here(name):
    compare(name, load_cases.build(name), recorded(name))
