"""paddle.vision.models against real Paddle 2.6.2: names, shapes and results."""

from pathlib import Path

import numpy as np
import paddle
import pytest
import vision_models as cases
from paddle import static
from paddle.utils import unique_name

RECORDED = np.load(Path(__file__).parent / "recorded" / "vision_models_2.6.2.npz")


@pytest.fixture(autouse=True)
def fresh():
    programs = static.Program(), static.Program()
    with static.program_guard(*programs), static.scope_guard(static.Scope()), unique_name.guard():
        yield


def shapes_of(net):
    return {path: tuple(var.shape) for path, var in net._named_state()}


@pytest.mark.parametrize("name", cases.NAMED)
def test_parameters_have_paddles_names_and_shapes(name):
    shapes = shapes_of(getattr(paddle.vision.models, name)())
    assert [len(shapes), cases.digest(shapes)] == RECORDED[f"names-{name}"].tolist()


@pytest.mark.parametrize("name, words, shape", cases.RUN)
def test_results_are_paddles(name, words, shape):
    net = getattr(paddle.vision.models, name)(**words)
    net.eval()
    out = net(static.data("x", shape, "float32"))
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    shapes = shapes_of(net)
    missing, unused = net.set_state_dict({path: cases.value(path, shapes[path]) for path in shapes})
    assert not missing and not unused
    (got,) = exe.run(feed={"x": cases.feed(shape)}, fetch_list=[out])
    want = RECORDED[cases.title(name, words)]
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 2e-4 * np.abs(want).max()


def test_trained_weights_are_refused_in_a_sentence():
    for name in ("resnet50", "vgg16", "mobilenet_v1", "mobilenet_v2"):
        with pytest.raises(ValueError, match=f"{name} has no pretrained weights"):
            getattr(paddle.vision.models, name)(pretrained=True)
    with pytest.raises(ValueError, match="depth must be one of"):
        paddle.vision.models.ResNet(None, depth=51)
