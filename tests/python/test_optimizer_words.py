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


def adamw_step(decay, ratio=1.0):
    """The first step of AdamW: by the sign of the gradient."""
    step = GRAD / (np.abs(GRAD) + 1e-8)
    return START - 0.1 * ratio * (decay * START + step)


def test_groups_with_their_own_decay_of_adamw(executor):
    a, b = weight("a"), weight("b")
    groups = [{"params": [a], "weight_decay": 0.5}, {"params": b}]
    optimizer.AdamW(0.1, parameters=groups, weight_decay=0.01).minimize(loss_of(a, b))
    train(executor)
    np.testing.assert_allclose(value("a"), adamw_step(0.5), rtol=1e-5)
    np.testing.assert_allclose(value("b"), adamw_step(0.01), rtol=1e-5)
    with pytest.raises(TypeError, match="weight_decay of AdamW must be a number"):
        groups = [{"params": [a], "weight_decay": paddle.regularizer.L2Decay(0.1)}]
        optimizer.AdamW(0.1, parameters=groups)


def test_ratios_of_learning_rates(executor):
    ratio = {"a": 0.25, "b": 1.0}
    adamw = optimizer.AdamW(0.1, lr_ratio=lambda parameter: ratio[parameter.name])
    loss = loss_of(weight("a"), weight("b"))
    pairs = adamw.backward(loss)
    ops = adamw.apply_gradients(pairs)
    assert [op.attr("lr_ratio") for op in ops] == [0.25, 1.0]
    train(executor)
    np.testing.assert_allclose(value("a"), adamw_step(0.01, 0.25), rtol=1e-5)
    np.testing.assert_allclose(value("b"), adamw_step(0.01), rtol=1e-5)


# ---- clips of one variable's gradient


def clipped_between(words):
    x = fluid.data("x", [2, 3])
    start = fluid.initializer.Constant(0.5)
    w = fluid.layers.create_parameter([3, 4], "float32", name="w", default_initializer=start)
    hidden = fluid.layers.matmul(x, w)
    hidden._set_error_clip(fluid.clip.ErrorClipByValue(**words))
    return hidden, fluid.layers.reduce_sum(hidden * hidden)


@pytest.mark.parametrize("way", ["minimize", "backward", "callbacks"])
def test_the_gradient_of_a_variable_is_clipped_before_others_read_it(executor, way):
    """What 1.8.5 gives: the gradient is 3, of which 0.05 are left."""
    hidden, loss = clipped_between({"max": 0.05, "min": -0.01})
    sgd = fluid.optimizer.SGD(1.0)
    if way == "minimize":
        sgd.minimize(loss)
    else:
        words = {"callbacks": [fluid.clip.error_clip_callback]} if way == "callbacks" else {}
        sgd.apply_gradients(sgd.backward(loss, **words))
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types.count("clip") == 1 and types.index("clip") == types.index("matmul_grad") - 1
    executor.run(fluid.default_startup_program())
    executor.run(feed={"x": np.ones((2, 3), "float32")})
    np.testing.assert_allclose(value("w"), np.full((3, 4), 0.4), rtol=1e-6)
    assert hidden.error_clip.max == 0.05 and loss.error_clip is None


def test_clips_of_variables():
    assert str(fluid.clip.ErrorClipByValue(2)) == "ByValue, min=-2.000000, max=2.000000"
    hidden, _ = clipped_between({"max": 1})
    copy = fluid.default_main_program().clone().global_block().var(hidden.name)
    assert copy.error_clip is hidden.error_clip
    hidden._set_error_clip(None)
    assert hidden.error_clip is None and copy.error_clip.min == -1
    with pytest.raises(TypeError, match="error_clip must be an ErrorClipByValue or None"):
        hidden._set_error_clip(0.5)


# ---- gradients that tell little of single samples


def test_dpsgd_shortens_gradients(executor):
    """What 1.8.5 gives without noise."""
    start = fluid.initializer.Constant(0.5)
    w = fluid.layers.create_parameter([4], "float32", name="w", default_initializer=start)
    loss = fluid.layers.reduce_sum(w * w)
    fluid.optimizer.Dpsgd(0.1, clip=0.5, batch_size=4.0, sigma=0.0).minimize(loss)
    executor.run(fluid.default_startup_program())
    executor.run(feed={})
    np.testing.assert_allclose(value("w"), [0.475] * 4, rtol=1e-6)


def test_dpsgd_adds_one_number_to_all_elements(executor):
    start = fluid.initializer.Constant(0.0)
    w = fluid.layers.create_parameter([4], "float32", name="w", default_initializer=start)
    loss = fluid.layers.reduce_sum(w * 0.0)
    fluid.optimizer.DpsgdOptimizer(1.0, clip=0.5, batch_size=4.0, sigma=2.0).minimize(loss)
    executor.run(fluid.default_startup_program())
    found = [value("w").copy() for _ in range(400) if executor.run(feed={}) == []]
    steps = np.diff(found, axis=0)
    np.testing.assert_allclose(steps, np.repeat(steps[:, :1], 4, 1), atol=1e-5)
    assert 0.4 < steps[:, 0].std() < 0.6


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
