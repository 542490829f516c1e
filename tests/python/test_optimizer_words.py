"""What programs say about training besides an optimizer: clips of a program, groups, averages."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import nn, optimizer, static

START = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]], "float32")
GRAD = (
    X.sum(0)[:, None] / 6 * np.ones((1, 2), "float32")
)  # of mean(X @ W), and half as much for two


def weight(name):
    start = nn.initializer.Assign(START)
    return static.create_parameter([2, 2], "float32", attr=paddle.ParamAttr(name, start))


def loss_of(*weights):
    x = static.data("x", [None, 2])
    return paddle.add_n([paddle.mean(paddle.matmul(x, w)) for w in weights])


def value(name):
    return np.array(static.global_scope().find_var(name).get_tensor())


def train(executor, steps=1):
    executor.run(static.default_startup_program())
    for _ in range(steps):
        executor.run(feed={"x": X})


# ---- clips of a program


def test_the_clip_of_a_program(executor):
    loss = loss_of(weight("w"))
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByNorm(0.1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    train(executor)
    expected = START - 0.1 * GRAD * 0.1 / np.linalg.norm(GRAD)
    np.testing.assert_allclose(value("w"), expected, rtol=1e-5)


def test_the_clip_of_some_parameters(executor):
    loss = loss_of(weight("a"), weight("b"))
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.01), param_list=["b"])
    fluid.optimizer.SGD(0.1).minimize(loss)
    train(executor)
    np.testing.assert_allclose(value("a"), START - 0.1 * GRAD, rtol=1e-5)
    np.testing.assert_allclose(value("b"), START - 0.1 * np.clip(GRAD, -0.01, 0.01), rtol=1e-5)


def test_an_optimizer_of_its_own_mind(executor):
    loss = loss_of(weight("w"))
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(1e-6))
    fluid.optimizer.SGD(0.1, grad_clip=fluid.clip.GradientClipByValue(0.05)).minimize(loss)
    train(executor)
    np.testing.assert_allclose(value("w"), START - 0.1 * np.clip(GRAD, -0.05, 0.05), rtol=1e-5)


def test_a_function_that_says_what_is_clipped(executor):
    loss = loss_of(weight("a"), weight("b"))
    clip = fluid.clip.GradientClipByGlobalNorm(0.1, need_clip=lambda p: p.name == "a")
    fluid.optimizer.SGD(0.1, grad_clip=clip).minimize(loss)
    train(executor)
    expected = START - 0.1 * GRAD * 0.1 / np.linalg.norm(GRAD)
    np.testing.assert_allclose(value("a"), expected, rtol=1e-5)
    np.testing.assert_allclose(value("b"), START - 0.1 * GRAD, rtol=1e-5)


def test_wrong_clips():
    with pytest.raises(TypeError, match="clip must be one of GradientClipByValue"):
        fluid.clip.set_gradient_clip(0.1)
    with pytest.raises(Exception, match="none"):
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.1), param_list=["none"])


# ---- groups of parameters


def test_groups_of_parameters(executor):
    a, b = weight("a"), weight("b")
    groups = [{"params": [a]}, {"params": [b], "learning_rate": 0.5, "weight_decay": 0.2}]
    optimizer.SGD(0.1, parameters=groups).minimize(loss_of(a, b))
    train(executor)
    np.testing.assert_allclose(value("a"), START - 0.1 * GRAD, rtol=1e-5)
    np.testing.assert_allclose(value("b"), START - 0.05 * (GRAD + 0.2 * START), rtol=1e-5)


# ---- averages


def test_averages_follow_the_parameters(executor):
    """The numbers are Paddle 2.6.2's."""
    loss = loss_of(weight("w"))
    optimizer.SGD(0.5).minimize(loss)
    ema = static.ExponentialMovingAverage(0.9)
    ema.update()
    train(executor, 4)
    now = value("w")
    np.testing.assert_allclose(now, [[0.9, -2.1], [-0.1, 2.4]], rtol=1e-5, atol=1e-6)
    with ema.apply(executor):
        average = [[0.93421775, -2.0657825], [0.10530674, 2.6053064]]
        np.testing.assert_allclose(value("w"), average, rtol=1e-5)
    np.testing.assert_array_equal(value("w"), now)


def test_averages_that_stay_until_restored(executor):
    optimizer.SGD(0.5).minimize(loss_of(weight("w")))
    ema = fluid.optimizer.ExponentialMovingAverage(0.5)
    ema.update()
    train(executor)
    now = value("w")
    with ema.apply(executor, need_restore=False):
        pass
    np.testing.assert_allclose(value("w"), now, rtol=1e-6)  # one step: the average is the value
    executor.run(feed={"x": X})
    ema.restore(executor)
    np.testing.assert_array_equal(value("w"), now)


def test_young_averages_decay_faster(executor):
    optimizer.SGD(0.5).minimize(loss_of(weight("w")))
    steps = static.create_global_var([1], 0, "int64", persistable=True)
    paddle.increment(steps)
    ema = static.ExponentialMovingAverage(0.999, steps)
    ema.update()
    train(executor, 2)
    first, second = START - 0.5 * GRAD, START - GRAD
    decays = 2 / 11, 3 / 12
    average = decays[1] * (1 - decays[0]) * first + (1 - decays[1]) * second
    with ema.apply(executor):
        expected = average / (1 - decays[0] * decays[1])
        np.testing.assert_allclose(value("w"), expected, rtol=1e-5)


# ---- optimizers around another one


def test_lookahead_goes_back_as_in_1_8_5(executor):
    x = fluid.data("x", [None, 2])
    one = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(1.0))
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr=one, bias_attr=False))
    inner = fluid.optimizer.SGD(0.1)
    fluid.optimizer.LookaheadOptimizer(inner, alpha=0.5, k=3).minimize(loss)
    executor.run(fluid.default_startup_program())
    feed = {"x": np.ones([1, 2], "float32")}
    found = [executor.run(feed=feed, fetch_list=["w"])[0][0, 0] for _ in range(8)]
    recorded = [0.9, 0.79999995, 0.84999996, 0.74999994, 0.6499999, 0.6999999, 0.5999999, 0.4999999]
    np.testing.assert_array_equal(found, np.float32(recorded))
    for alpha, k in [(2.0, 3), (0.5, 0), (0.5, 2.5)]:
        with pytest.raises(AssertionError, match="alpha must lie in|k must be a whole number"):
            fluid.optimizer.LookaheadOptimizer(inner, alpha, k)


@pytest.mark.parametrize(
    "avg, expected", [(True, [1, 0.85, 0.85, 0.7]), (False, [1, 0.7, 0.7, 0.4])]
)
def test_gradient_merge_updates_by_the_gradients_of_several_steps(executor, avg, expected):
    x = fluid.data("x", [None, 2])
    one = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(1.0))
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr=one, bias_attr=False))
    inner = fluid.optimizer.SGD(0.1)
    fluid.optimizer.GradientMergeOptimizer(inner, k_steps=2, avg=avg).minimize(loss)
    executor.run(fluid.default_startup_program())
    found = []
    for value in (1, 2, 1, 2):
        executor.run(feed={"x": np.full([1, 2], value, "float32")})
        found.append(np.array(fluid.global_scope().find_var("w").get_tensor())[0, 0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(AssertionError, match="k_steps must be a whole number of 1 or more"):
        fluid.optimizer.GradientMergeOptimizer(inner, 0)


def test_recompute_gives_the_results_of_the_optimizer_inside(executor):
    loss = loss_of(weight("w"))
    outside = fluid.optimizer.RecomputeOptimizer(fluid.optimizer.SGD(0.1))
    outside._set_checkpoints([loss])
    outside.minimize(loss)
    train(executor, 2)
    np.testing.assert_allclose(value("w"), START - 0.1 * 2 * GRAD, rtol=1e-5)
