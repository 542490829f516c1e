"""Optimizers: their rules against numpy, their options, learning rates and states."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import nn, optimizer, static

START = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]], "float32")
GRAD = X.sum(0)[:, None] / 6 * np.ones((1, 2), "float32")  # of mean(X @ W)


def build(make, **attr):
    """A program that minimizes mean(x @ w); returns the loss."""
    start = nn.initializer.Assign(START)
    w = static.create_parameter([2, 2], "float32", attr=paddle.ParamAttr("w", start, **attr))
    loss = paddle.mean(paddle.matmul(static.data("x", [None, 2]), w))
    make().minimize(loss)
    return loss


def train(executor, steps, before=None):
    executor.run(static.default_startup_program())
    for step in range(steps):
        if before is not None:
            before(step)
        executor.run(feed={"x": X})
    return value("w")


def value(name):
    return np.array(static.global_scope().find_var(name).get_tensor())


def sgd(p, g, s, t):
    return p - 0.1 * g


def momentum(p, g, s, t):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - 0.1 * s["v"]


def nesterov(p, g, s, t):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - 0.1 * (g + 0.9 * s["v"])


def adam(p, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return p - 0.1 * (s["m"] / (1 - 0.9**t)) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)


def adamw(p, g, s, t):
    return adam(p * (1 - 0.1 * 0.01), g, s, t)


def adagrad(p, g, s, t):
    s["m"] = s.get("m", 0) + g * g
    return p - 0.1 * g / (np.sqrt(s["m"]) + 1e-6)


def decayed_adagrad(p, g, s, t):
    s["m"] = 0.95 * s.get("m", 0) + 0.05 * g * g
    return p - 0.1 * g / (np.sqrt(s["m"]) + 1e-6)


def rmsprop(p, g, s, t):
    s["v"] = 0.95 * s.get("v", 0) + 0.05 * g * g
    return p - 0.1 * g / np.sqrt(s["v"] + 1e-6)


def adadelta(p, g, s, t, rate=0.1):
    s["g"] = 0.95 * s.get("g", 0) + 0.05 * g * g
    step = g * np.sqrt((s.get("u", 0) + 1e-6) / (s["g"] + 1e-6))
    s["u"] = 0.95 * s.get("u", 0) + 0.05 * step * step
    return p - rate * step


def adadelta_of_1x(p, g, s, t):
    return adadelta(p, g, s, t, rate=1)  # whatever the program says


def adamax(p, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0) + 1e-8, np.abs(g))
    return p - 0.1 / (1 - 0.9**t) * s["m"] / s["u"]


def lamb(p, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    step = (s["m"] / (1 - 0.9**t)) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-6) + 0.01 * p
    return p - 0.1 * np.linalg.norm(p) / np.linalg.norm(step) * step


RULES = {
    "SGD": (lambda: optimizer.SGD(0.1), sgd),
    "Momentum": (lambda: optimizer.Momentum(0.1, 0.9), momentum),
    "Nesterov": (lambda: optimizer.Momentum(0.1, use_nesterov=True), nesterov),
    "Adam": (lambda: optimizer.Adam(0.1), adam),
    "AdamW": (lambda: optimizer.AdamW(0.1), adamw),
    "Adagrad": (lambda: optimizer.Adagrad(0.1), adagrad),
    "RMSProp": (lambda: optimizer.RMSProp(0.1), rmsprop),
    "Adadelta": (lambda: optimizer.Adadelta(0.1), adadelta),
    "Adamax": (lambda: optimizer.Adamax(0.1), adamax),
    "Lamb": (lambda: optimizer.Lamb(0.1), lamb),
    "fluid.SGD": (lambda: fluid.optimizer.SGD(0.1), sgd),
    "fluid.SGDOptimizer": (lambda: fluid.optimizer.SGDOptimizer(learning_rate=0.1), sgd),
    "fluid.Momentum": (lambda: fluid.optimizer.Momentum(0.1, 0.9), momentum),
    "fluid.Adam": (lambda: fluid.optimizer.Adam(learning_rate=0.1), adam),
    "fluid.Adagrad": (lambda: fluid.optimizer.AdagradOptimizer(0.1), adagrad),
    "fluid.DecayedAdagrad": (lambda: fluid.optimizer.DecayedAdagrad(0.1), decayed_adagrad),
    "fluid.RMSProp": (lambda: fluid.optimizer.RMSPropOptimizer(0.1), rmsprop),
    "fluid.Adadelta": (lambda: fluid.optimizer.Adadelta(0.1), adadelta_of_1x),
    "fluid.Adamax": (lambda: fluid.optimizer.Adamax(0.1), adamax),
    "fluid.Lamb": (lambda: fluid.optimizer.LambOptimizer(0.1), lamb),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(executor, name):
    make, rule = RULES[name]
    build(make)
    expected, state = START.astype("float64"), {}
    for t in range(1, 6):
        expected = rule(expected, GRAD.astype("float64"), state, t)
    np.testing.assert_allclose(train(executor, 5), expected, rtol=2e-5, atol=5e-6)


def test_momentum_that_was_to_compress_gradients(executor):
    clip = fluid.clip.GradientClipByNorm(0.2)
    words = {"num_trainers": 4, "grad_clip": clip}
    with pytest.warns(UserWarning, match="exchanged uncompressed"):
        build(lambda: fluid.optimizer.DGCMomentumOptimizer(0.1, 0.9, rampup_begin_step=5, **words))
    expected, state = START.astype("float64"), {}
    for t in range(1, 4):
        expected = momentum(expected, GRAD * 0.1 / np.linalg.norm(GRAD), state, t)
    np.testing.assert_allclose(train(executor, 3), expected, rtol=2e-5, atol=5e-6)
    with pytest.raises(AssertionError, match="needs num_trainers"):
        fluid.optimizer.DGCMomentumOptimizer(0.1, 0.9, 5, grad_clip=clip)


@pytest.mark.parametrize(
    "make", [lambda: fluid.optimizer.Ftrl(0.1), lambda: fluid.optimizer.LarsMomentum(0.1, 0.9)]
)
def test_other_rules_lower_the_loss(executor, make):
    build(make)
    assert (train(executor, 5) * GRAD).sum() < (START * GRAD).sum()


# ---- options


@pytest.mark.parametrize(
    "make, gradient",
    [
        (lambda: optimizer.SGD(0.1, weight_decay=0.5), GRAD + 0.5 * START),
        (lambda: optimizer.SGD(0.1, weight_decay=paddle.regularizer.L2Decay(0.5)), GRAD + 0.5 * START),
        (lambda: optimizer.SGD(0.1, weight_decay=paddle.regularizer.L1Decay(0.5)), GRAD + 0.5 * np.sign(START)),
        (lambda: optimizer.Momentum(0.1, weight_decay=0.5), GRAD + 0.5 * START),
        (lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L2Decay(regularization_coeff=0.5)), GRAD + 0.5 * START),
        (lambda: optimizer.SGD(0.1, grad_clip=nn.ClipGradByValue(0.05)), np.clip(GRAD, -0.05, 0.05)),
        (lambda: optimizer.SGD(0.1, grad_clip=nn.ClipGradByNorm(0.1)), GRAD * 0.1 / np.linalg.norm(GRAD)),
        (lambda: optimizer.SGD(0.1, grad_clip=nn.ClipGradByGlobalNorm(0.1)), GRAD * 0.1 / np.linalg.norm(GRAD)),
        (lambda: optimizer.SGD(0.1, grad_clip=nn.ClipGradByGlobalNorm(100.0)), GRAD),
        (lambda: fluid.optimizer.SGD(0.1, grad_clip=fluid.clip.GradientClipByNorm(0.1)), GRAD * 0.1 / np.linalg.norm(GRAD)),
    ],
)  # fmt: skip
def test_decay_and_clipping(executor, make, gradient):
    build(make)
    np.testing.assert_allclose(train(executor, 1), START - 0.1 * gradient, rtol=1e-5)


def test_what_a_parameter_says_itself(executor):
    build(
        lambda: optimizer.SGD(0.1), learning_rate=0.5, regularizer=paddle.regularizer.L2Decay(1.0)
    )
    expected = START - 0.05 * (GRAD + START)
    np.testing.assert_allclose(train(executor, 1), expected, rtol=1e-5)


def test_a_frozen_parameter_stays(executor):
    start = nn.initializer.Assign(START)
    frozen = paddle.ParamAttr("frozen", start, trainable=False)
    hidden = static.nn.fc(static.data("x", [None, 2]), 2, weight_attr=frozen, bias_attr=False)
    optimizer.SGD(0.1).minimize(paddle.mean(static.nn.fc(hidden, 1)))
    executor.run(static.default_startup_program())
    executor.run(feed={"x": X})
    np.testing.assert_array_equal(value("frozen"), START)


def test_only_some_parameters(executor):
    x = static.data("x", [None, 2])
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    loss = paddle.mean(second(first(x)))
    _, pairs = optimizer.SGD(0.1, parameters=second.parameters()).minimize(loss)
    assert [(p.name, g.name) for p, g in pairs] == [
        ("linear_1.w_0", "linear_1.w_0@GRAD"),
        ("linear_1.b_0", "linear_1.b_0@GRAD"),
    ]


def test_words_of_minimize(executor):
    loss = build(lambda: optimizer.SGD(0.1))
    startup = static.default_startup_program()
    for words in [
        {"parameter_list": ["w"]},
        {"parameters": ["w"]},
        {"startup_program": startup, "no_grad_set": set()},
    ]:
        ops, pairs = fluid.optimizer.SGD(0.1).minimize(loss, **words)
        assert [op.type for op in ops] == ["sgd"] and pairs[0][0].name == "w"


def test_backward_and_apply(executor):
    start = nn.initializer.Assign(START)
    w = static.create_parameter([2, 2], "float32", attr=paddle.ParamAttr("w", start))
    loss = paddle.mean(paddle.matmul(static.data("x", [None, 2]), w))
    sgd = optimizer.SGD(0.1)
    pairs = [(p, g * 2.0) for p, g in sgd.backward(loss)]
    sgd.apply_gradients(pairs)
    np.testing.assert_allclose(train(executor, 1), START - 0.2 * GRAD, rtol=1e-5)


@pytest.mark.parametrize(
    "make, error, sentence",
    [
        (lambda: optimizer.SGD("0.1"), TypeError, "learning_rate must be a number"),
        (lambda: optimizer.Optimizer(0.1), TypeError, "abstract base class"),
        (lambda: optimizer.SGD(0.1, parameters=[{"lr": 3}]), TypeError, 'dicts with "params"'),
        (
            lambda: optimizer.Adam(0.1, parameters=[{"params": [], "beta1": 0.5}]),
            ValueError,
            "beta1",
        ),
        (lambda: optimizer.AdamW(0.1, lr_ratio=0.5), TypeError, "lr_ratio must be a function"),
        (lambda: optimizer.SGD(0.1, lr=0.1), TypeError, "unexpected keyword"),
    ],
)
def test_wrong_options(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_names_that_do_not_decay(executor):
    fun = {"apply_decay_param_fun": lambda name: name != "w"}
    build(lambda: optimizer.AdamW(0.1, weight_decay=0.5, **fun))
    np.testing.assert_allclose(
        train(executor, 1), adam(START.astype("float64"), GRAD, {}, 1), rtol=1e-5
    )


# ---- learning rates and states


def test_schedulers_set_the_rate_before_each_run(executor):
    rate = optimizer.lr.PiecewiseDecay([1, 2], [0.1, 0.01, 0.001])
    build(lambda: optimizer.SGD(rate))
    found = train(executor, 4, lambda step: step and rate.step())
    np.testing.assert_allclose(found, START - 0.112 * GRAD, rtol=1e-5)
    assert value("learning_rate_0").item() == np.float32(0.001)


def test_schedulers_reach_every_scope_and_copies(executor):
    rate = optimizer.lr.ExponentialDecay(0.1, 0.5)
    build(lambda: optimizer.SGD(rate))
    copy, other = static.default_main_program().clone(), static.Scope()
    rate.step()
    with static.scope_guard(other):
        executor.run(static.default_startup_program())
        executor.run(copy, feed={"x": X})
        np.testing.assert_allclose(value("w"), START - 0.05 * GRAD, rtol=1e-5)


def test_set_lr(executor):
    made = []
    build(lambda: made.append(optimizer.SGD(0.1)) or made[0])
    assert made[0].get_lr() == 0.1
    found = train(executor, 2, lambda step: made[0].set_lr(0.5) if step else None)
    np.testing.assert_allclose(found, START - 0.6 * GRAD, rtol=1e-5)
    assert made[0].get_lr() == 0.5
    with pytest.raises(RuntimeError, match="schedule"):
        optimizer.SGD(optimizer.lr.ExponentialDecay(0.1, 0.5)).set_lr(0.1)


def test_schedules_inside_the_program(executor):
    made = []

    def make():
        made.append(fluid.optimizer.SGD(fluid.layers.piecewise_decay([1, 2], [0.1, 0.01, 0.001])))
        return made[0]

    build(make)
    np.testing.assert_allclose(train(executor, 4), START - 0.112 * GRAD, rtol=1e-5)


def test_states_go_on(executor, tmp_path):
    made = []
    build(lambda: made.append(optimizer.Adam(optimizer.lr.ExponentialDecay(0.1, 0.9))) or made[0])
    adam, rate = made[0], made[0]._learning_rate

    def steps(count):
        for _ in range(count):
            executor.run(feed={"x": X})
            rate.step()
        return value("w")

    executor.run(static.default_startup_program())
    steps(2)
    state, w = adam.state_dict(), value("w")
    assert sorted(state) == [
        *("LR_Scheduler", "w_beta1_pow_acc_0", "w_beta2_pow_acc_0", "w_moment1_0", "w_moment2_0"),
    ]
    paddle.save(state, str(tmp_path / "adam.pdopt"))
    expected = steps(3)
    executor.run(static.default_startup_program())
    static.global_scope().find_var("w").get_tensor().set(w, paddle.CPUPlace())
    adam.set_state_dict(paddle.load(str(tmp_path / "adam.pdopt")))
    assert rate.last_epoch == 2
    np.testing.assert_array_equal(steps(3), expected)


def test_a_net_learns_with_each_optimizer(executor):
    rows = np.random.RandomState(0).randn(64, 4).astype("float32")
    feed = {"x": rows, "y": np.tanh(rows.sum(1, keepdims=True))}
    for name, (make, _) in RULES.items():
        if name.startswith("fluid"):
            continue
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x, y = static.data("x", [None, 4]), static.data("y", [None, 1])
            hidden = static.nn.fc(x, 16, activation="tanh")
            loss = nn.MSELoss()(static.nn.fc(hidden, 1), y)
            make().minimize(loss)
        main.random_seed = startup.random_seed = 7
        executor.run(startup)
        losses = [executor.run(main, feed, [loss])[0].item() for _ in range(30)]
        assert np.isfinite(losses).all() and losses[-1] < 0.9 * losses[0], (name, losses)
