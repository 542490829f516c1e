"""Whole models, 20 training steps from known parameters: the losses of real Paddle, within 1e-4.

Each runs twice: built here through the Python API, and as the serialized program real Paddle made.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import training

RECORDED = Path(__file__).parent / "recorded"
TOLERANCE = 1e-4

ANSWERS = {}
for path in sorted(RECORDED.glob("programs_*.json")):
    ANSWERS.update(json.loads(path.read_text()))


@pytest.mark.parametrize("name", ANSWERS)
def test_built_here(name):
    models = training.models()
    if name not in models:
        pytest.skip("this paddle has no words for it")
    built = training.build(models[name])
    assert built["parameters"] == ANSWERS[name]["parameters"]
    compare(ANSWERS[name], training.train(name, built))


@pytest.mark.parametrize("name", ANSWERS)
def test_serialized_there(name):
    answer = ANSWERS[name]
    built = {part: parse(f"{name}.{part}.gz") for part in ("main", "startup")}
    built.update(loss=answer["loss"], parameters=answer["parameters"])
    built["metrics"] = list(answer["metrics"])
    compare(answer, training.train(name, built))


def parse(file):
    data = gzip.decompress((RECORDED / "programs" / file).read_bytes())
    return training.static.Program.parse_from_string(data)


def compare(expected, found):
    near("loss", found["losses"], expected["losses"])
    # Names of metric variables differ between releases; their order does not.
    pairs = zip(found["metrics"].values(), expected["metrics"].values())
    for i, (ours, theirs) in enumerate(pairs):
        near(f"metric {i}", ours, theirs)
    for name, (total, weighted) in expected["checksums"].items():
        scale = max(1.0, abs(total), abs(weighted))
        difference = np.abs(np.subtract(found["checksums"][name], (total, weighted))).max()
        assert difference <= 1e-3 * scale, f"final {name}: checksums differ by {difference:.2g}"


def near(what, found, expected):
    for step, (ours, theirs) in enumerate(zip(found, expected)):
        difference = abs(ours - theirs)
        limit = TOLERANCE * max(1.0, abs(theirs))
        assert difference <= limit, f"{what} at step {step}: {ours}, expected {theirs}"
