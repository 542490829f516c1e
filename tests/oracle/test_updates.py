"""Optimizers step as Paddle 1.8 does in the programs that it wrote, also where 2.x changed them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import rules

if importlib.util.find_spec("paddle.fluid") is None:
    pytest.skip("this paddle has no fluid", allow_module_level=True)

import paddle.fluid as fluid  # noqa: E402
import update_cases  # noqa: E402

RECORDED = Path(__file__).parent / "recorded" / "updates_1.8.5.npz"
# Programs made here have the formulas of 2.x.
CHANGED = {"adam", "lamb", "lamb.no_decay"}


def recorded(name):
    with np.load(RECORDED) as arrays:
        programs = [
            fluid.Program.parse_from_string(arrays[f"{name}/{part}"].tobytes())
            for part in ("main", "startup")
        ]
        return programs, arrays[f"{name}/steps"]


@pytest.mark.parametrize("name", update_cases.OPTIMIZERS)
def test_serialized_there(name):
    programs, steps = recorded(name)
    assert rules.relative_error(update_cases.train(*programs), steps) < 1e-6


@pytest.mark.parametrize("name", update_cases.OPTIMIZERS)
def test_built_here(name):
    steps = recorded(name)[1]
    close = rules.relative_error(update_cases.train(*update_cases.build(name)), steps) < 1e-6
    assert close == (name not in CHANGED)


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_a_formula_survives_the_way_to_a_file_and_back(name):
    def again(program):
        return fluid.Program.parse_from_string(program.desc.serialize_to_string())

    programs, steps = recorded(name)
    assert rules.relative_error(update_cases.train(*map(again, programs)), steps) < 1e-6
    built = update_cases.build(name)
    assert np.array_equal(update_cases.train(*map(again, built)), update_cases.train(*built))
