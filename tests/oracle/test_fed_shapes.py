"""Feeds of other shapes than declared do what they do in Paddle, but for those that lack more than
axes of one element: it computes with them, and here they are refused."""

import importlib.util
import json
from pathlib import Path

import pytest

import fed_shapes

RECORDED = Path(__file__).parent / "recorded"
LACKING = {
    f"{list(declared)} <- {list(fed)}"
    for declared, fed in fed_shapes.PAIRS
    if any(extent != 1 for extent in declared[len(fed) :])
}


@pytest.mark.skipif(
    importlib.util.find_spec("_flotilla") is None,
    reason="real Paddle is asked by tools/oracle/record_fed_shapes.py",
)
@pytest.mark.parametrize("release", ["1.8.5", "2.6.2"])
def test_feeds_of_other_shapes(release):
    expected = json.loads((RECORDED / f"fed_shapes_{release}.json").read_text())
    for pair, found in fed_shapes.answers().items():
        there = expected.pop(pair)
        if pair in LACKING:
            assert (there == "refused", found) == (False, "refused"), pair
        elif there == "nothing":
            assert 0 in found, pair
        else:
            assert found == there, pair
    assert not expected
