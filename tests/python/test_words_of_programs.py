"""Lines of public programs of 1.8 and 2.x that mean what they mean in Paddle."""

import warnings

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static


def values(executor, fetch, **feed):
    executor.run(static.default_startup_program())
    return executor.run(feed=feed, fetch_list=list(fetch))


# ---- variables in conditions


def test_a_variable_is_there():
    x = static.data("x", [2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x and x
        assert (x if x else None) is x


def test_the_truth_of_a_comparison_is_not_known_yet():
    x = static.data("x", [1])
    with pytest.warns(UserWarning, match="is not known while the program is built") as caught:
        assert x > 0
    assert caught[0].filename == __file__


def test_no_variable_is_none():
    x = static.data("x", [2])
    count = len(static.default_main_program().global_block().ops)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert len(static.default_main_program().global_block().ops) == count
    assert (x == 1).dtype == paddle.bool and (x != 1).dtype == paddle.bool


# ---- rows that are taken twice


@pytest.mark.parametrize("overwrite", [None, True, False])
def test_a_row_that_1x_gathers_twice(executor, overwrite):
    x, i = fluid.data("x", [4, 2]), fluid.data("i", [3], "int32")
    x.stop_gradient = False
    chosen = {} if overwrite is None else {"overwrite": overwrite}
    weights = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
    sum = fluid.layers.reduce_sum(fluid.layers.gather(x, i, **chosen) * weights)
    gradient = fluid.gradients([sum], [x])[0]
    fed = {"x": np.ones((4, 2), "float32"), "i": np.array([1, 1, 2], "int32")}
    twice = 3 if overwrite is False else 2
    assert values(executor, [gradient], **fed)[0][:, 0].tolist() == [0, twice, 3, 0]


def test_a_row_that_2x_gathers_twice(executor):
    x, i = static.data("x", [4, 2]), static.data("i", [3], "int32")
    x.stop_gradient = False
    gradient = static.gradients([paddle.sum(paddle.gather(x, i))], [x])[0]
    fed = {"x": np.ones((4, 2), "float32"), "i": np.array([1, 1, 2], "int32")}
    assert values(executor, [gradient], **fed)[0][:, 0].tolist() == [0, 2, 1, 0]


# ---- declarations


def test_any_negative_extent_is_unknown(executor):
    x = fluid.layers.data("x", shape=[-256, 1], append_batch_size=False)
    assert x.shape == (-1, 1)
    assert fluid.layers.data("y", shape=[-256, 1]).shape == (-1, 1)
    doubled = fluid.layers.scale(x, 2.0)
    assert values(executor, [doubled], x=np.ones((3, 1), "float32"))[0].tolist() == [[2]] * 3


@pytest.mark.parametrize("create", [paddle.create_parameter, fluid.layers.create_parameter])
def test_names_of_parameters(create):
    attr = paddle.ParamAttr
    made = [
        create([2], "float32", name="nm", attr=attr(learning_rate=0.5)),
        create([2], "float32", name="nn"),
        create([2], "float32", name="nn", attr=attr(name="zz")),
        create([2], "float32", name="n2", attr=attr(learning_rate=0.5), is_bias=True),
        create([2], "float32", name="n3", is_bias=True),
        create([2], "float32", is_bias=True),
        create([2], "float32"),
        create([2], "float32", name="nm", attr=attr(learning_rate=0.5)),
    ]
    # As 1.8.5 and 2.6.2 name them.
    assert [one.name for one in made] == [
        *("nm.w_0", "nn", "zz", "n2.b_0", "n3"),
        *("create_parameter_0.b_0", "create_parameter_1.w_0", "nm.w_1"),
    ]


# ---- gradients


@pytest.mark.parametrize("way", ["the optimizer", "set_gradient_clip", "2.x"])
def test_what_a_gradient_is_called_that_the_global_norm_clips(executor, way):
    """1.x keeps ``w@GRAD`` as backward left it; 2.x overwrites it."""
    x = fluid.data("x", [2, 4])
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    loss = fluid.layers.mean(fluid.layers.square(fluid.layers.fc(x, 3, param_attr=w)))
    if way == "2.x":
        clip = paddle.nn.ClipGradByGlobalNorm(0.1)
        paddle.optimizer.SGD(0.1, grad_clip=clip).minimize(loss)
    else:
        clip = fluid.clip.GradientClipByGlobalNorm(0.1)
        if way == "set_gradient_clip":
            fluid.clip.set_gradient_clip(clip)
        fluid.optimizer.SGD(0.1, grad_clip=clip if way == "the optimizer" else None).minimize(loss)
    fed = np.arange(8).reshape(2, 4).astype("float32")
    found = values(executor, ["w@GRAD"], x=fed)[0]
    # From 1.8.5 and 2.6.2.
    assert found[0, 0] == pytest.approx(0.01889474 if way == "2.x" else 14.666667, rel=1e-5)
    after = np.array(static.global_scope().find_var("w").get_tensor())
    assert after[0, 0] == pytest.approx(0.5 - 0.1 * 0.01889474, rel=1e-6)


@pytest.mark.parametrize("way", ["the clip", "append_gradient_clip_ops", "not asked for"])
def test_gradients_are_clipped_between_backward_and_updates(executor, way):
    x = fluid.data("x", [2, 4])
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr=w, bias_attr=False))
    optimizer = fluid.optimizer.SGD(1.0)
    pairs = optimizer.backward(loss)
    clip = fluid.clip.GradientClipByValue(0.25)
    if way == "append_gradient_clip_ops":
        fluid.clip.set_gradient_clip(clip)
    clipped = clip(pairs) if way == "the clip" else fluid.clip.append_gradient_clip_ops(pairs)
    optimizer.apply_gradients(clipped)
    found = values(executor, [clipped[0][1], "w@GRAD"], x=np.ones((2, 4), "float32"))
    assert found[0].ravel().tolist() == [1.0 if way == "not asked for" else 0.25] * 4
    assert found[1].ravel().tolist() == [1.0] * 4
    after = np.array(static.global_scope().find_var("w").get_tensor())
    assert after.ravel().tolist() == [-0.5 if way == "not asked for" else 0.25] * 4


# ---- metrics


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_mean_iou(executor, dtype):
    found, right = fluid.data("p", [-1, 3], dtype), fluid.data("l", [-1, 3], dtype)
    outs = fluid.layers.mean_iou(found, right, 4)
    assert [(one.shape, one.dtype) for one in outs] == [
        ((1,), paddle.float32),
        ((4,), paddle.int32),
        ((4,), paddle.int32),
    ]
    fed = {
        "p": np.array([[0, 1, 2], [1, 1, 0]], dtype),
        "l": np.array([[0, 1, 1], [1, 2, 0]], dtype),
    }
    mean, wrong, correct = values(executor, outs, **fed)
    # From 1.8.5.
    assert mean.tolist() == [0.5]
    assert wrong.tolist() == [0, 2, 2, 0] and correct.tolist() == [2, 2, 0, 0]
