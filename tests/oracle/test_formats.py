"""Files that real Paddle wrote load here: inference models of both eras, and training state."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

import golden
import rules
import training
from feeds import feed
from training import place, static

FORMATS = Path(__file__).parent / "recorded" / "formats"
HAS_FLUID = importlib.util.find_spec("paddle.fluid") is not None
needs_fluid = pytest.mark.skipif(not HAS_FLUID, reason="this paddle has no fluid")


def answers_of(version):
    with np.load(FORMATS / version / "answers.npz") as arrays:
        return dict(arrays)


@pytest.fixture
def executor():
    with static.scope_guard(static.Scope()):
        yield static.Executor(place)


def predict(executor, loaded, expected):
    program, feeds, fetches = loaded
    assert list(feeds) == ["x"]
    x = feed("golden", 3)["x"]
    (found,) = executor.run(program, feed={"x": x}, fetch_list=fetches)
    assert found.shape == expected.shape
    assert rules.relative_error(found, expected) < 1e-5


def test_inference_model_of_2_6(executor):
    loaded = static.load_inference_model(str(FORMATS / "2.6.2" / "inference"), executor)
    predict(executor, loaded, answers_of("2.6.2")["@prediction"])


@needs_fluid
@pytest.mark.parametrize("folder, params", [("separate", None), ("combined", "__params__")])
def test_inference_model_of_1_8(executor, folder, params):
    import paddle.fluid as fluid

    path = str(FORMATS / "1.8.5" / folder)
    loaded = fluid.io.load_inference_model(path, executor, params_filename=params)
    predict(executor, loaded, answers_of("1.8.5")["@prediction"])


def resume(executor, version, load):
    """Builds the net, lets `load(program)` bring the state, and trains on as Paddle did."""
    model = golden.MODEL_18 if version == "1.8.5" else golden.MODEL_26
    built, answers = training.build(model), answers_of(version)
    executor.run(built["startup"])
    load(built["main"])
    for name, expected in answers.items():
        if not name.startswith("@"):
            found = np.array(static.global_scope().find_var(name).get_tensor())
            np.testing.assert_array_equal(found.reshape(-1), expected.reshape(-1), err_msg=name)
    for step, expected in enumerate(answers["@losses"], start=3):
        (loss,) = executor.run(built["main"], feed("golden", step), [built["loss"]])
        assert abs(float(np.array(loss).reshape(-1)[0]) - expected) < 1e-4


def test_training_state_of_2_6(executor):
    prefix = str(FORMATS / "2.6.2" / "training")
    resume(executor, "2.6.2", lambda program: static.load(program, prefix, executor))


@needs_fluid
def test_training_state_of_1_8(executor):
    import paddle.fluid as fluid

    prefix = str(FORMATS / "1.8.5" / "training")
    resume(executor, "1.8.5", lambda program: fluid.load(program, prefix, executor))


@needs_fluid
def test_persistables_of_1_8(executor):
    import paddle.fluid as fluid

    folder = str(FORMATS / "1.8.5")
    resume(
        executor,
        "1.8.5",
        lambda program: fluid.io.load_persistables(executor, folder, program, "persistables"),
    )


def test_state_as_a_dict():
    state = static.load_program_state(str(FORMATS / "2.6.2" / "training"))
    answers = answers_of("2.6.2")
    names = [name for name in answers if not name.startswith("@") and "learning_rate" not in name]
    assert set(names) <= set(state)
    for name in names:
        np.testing.assert_array_equal(np.array(state[name]).reshape(-1), answers[name].reshape(-1))


@pytest.mark.parametrize("file", ["inference.pdmodel", "inference.pdiparams"])
def test_truncated_file_is_refused(executor, file, tmp_path):
    for part in ("inference.pdmodel", "inference.pdiparams"):
        shutil.copy(FORMATS / "2.6.2" / part, tmp_path / part)
    data = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(Exception):  # noqa: B017 - the kind differs; that it is one is the point
        static.load_inference_model(str(tmp_path / "inference"), executor)
    test_inference_model_of_2_6(executor)
