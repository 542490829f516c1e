"""Gradient ops as real Paddle writes them hold all that ours need, in both eras."""

import json
from pathlib import Path

import pytest

core = pytest.importorskip("_flotilla", reason="asks for the definitions of operators here")

RECORDED = sorted((Path(__file__).parent / "recorded").glob("gradient_slots_*.json"))


def needed(type):
    return {slot for slot, is_needed in core.op_inputs(type).items() if is_needed}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_inputs_of_gradients(path):
    theirs, ours = json.loads(path.read_text()), set(core.op_types())
    common = [type for type in theirs if type in ours]
    assert len(common) > 100
    lacking = {type: needed(type) - set(theirs[type]) for type in common}
    assert {type: slots for type, slots in lacking.items() if slots} == {}
