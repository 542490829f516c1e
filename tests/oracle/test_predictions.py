"""Predictors give what those of real Paddle gave for the models that it saved."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import predictions
import rules
from training import static

RECORDED = Path(__file__).parent / "recorded"
HERE = importlib.util.find_spec("_flotilla") is not None
CASES = [(release, name) for release, names in predictions.MODELS.items() for name in names]


@pytest.mark.skipif(not HERE, reason="real Paddle is asked by tools/oracle/record_predictions.py")
@pytest.mark.parametrize("release, name", CASES)
def test_models_that_paddle_saved(tmp_path, release, name):
    import _flotilla as core
    from paddle import inference

    _, scope = predictions.prepare(name)
    model, params = str(tmp_path / "model"), str(tmp_path / "params")
    Path(model).write_bytes(gzip.decompress((RECORDED / f"predictions/{name}.gz").read_bytes()))
    with core.SaveSet(str(tmp_path)) as save:
        names = core.persistable_names(static.Program.parse_from_string(Path(model).read_bytes()))
        save.add_combined("params", names, scope)
    predictor = inference.create_predictor(inference.Config(model, params))
    inputs = predictions.inputs(name)
    assert set(predictor.get_input_names()) == set(inputs)
    for word, value in inputs.items():
        predictor.get_input_handle(word).copy_from_cpu(value)
    predictor.run()
    found = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    with np.load(RECORDED / f"predictions_{release}.npz") as recorded:
        expected = recorded[name]
    assert found.shape == expected.shape
    assert rules.relative_error(found, expected) < 1e-5
