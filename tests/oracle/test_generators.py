"""Data generators write what real Paddle's write, byte for byte."""

import json
from pathlib import Path

import pytest

import generator_cases

RECORDED = Path(__file__).parent / "recorded"


@pytest.mark.parametrize("version", ["1.8.5", "2.6.2"])
def test_text_is_paddles(version):
    recorded = json.loads((RECORDED / f"generators_{version}.json").read_text())
    zipped = recorded.pop("zipped", None)
    assert generator_cases.outputs() == recorded
    if zipped is not None:
        assert generator_cases.zipped() == zipped
