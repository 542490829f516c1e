"""Branches and loops of programs, in the words of both eras."""

import functools
import gc
import math
import signal
import subprocess
import sys
import time

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
import watched
from paddle import static
from paddle.fluid import layers

X = np.array([1.0, 2.0, 3.0], "float32")


@pytest.fixture
def x():
    return static.data("x", [3])


def run(executor, fetch, value=X):
    return [np.array(one) for one in executor.run(feed={"x": value}, fetch_list=fetch)]


# ---- branches


def test_only_one_branch_counts(executor, x):
    out = static.nn.cond(paddle.sum(x) > 0, lambda: x * 2, lambda: x - 1)
    np.testing.assert_allclose(run(executor, [out])[0], X * 2)
    np.testing.assert_allclose(run(executor, [out], -X)[0], -X - 1)


def test_branches_return_structures(executor, x):
    out = static.nn.cond(
        paddle.sum(x) > 0,
        lambda: {"a": x, "b": [x + 1, (x + 2,)]},
        lambda: {"a": -x, "b": [x, (x,)]},
    )
    assert list(out) == ["a", "b"] and isinstance(out["b"][1], tuple)
    found = run(executor, [out["a"], out["b"][0], out["b"][1][0]])
    np.testing.assert_allclose(found, [X, X + 1, X + 2])


def test_branches_that_only_write(executor, x):
    total = static.create_global_var([1], 7.0, "float32", persistable=True, name="total")

    def write():
        paddle.assign(paddle.sum(x), total)

    assert static.nn.cond(paddle.sum(x) > 0, write) is None
    executor.run(static.default_startup_program())
    assert run(executor, [total], -X)[0].item() == 7
    assert run(executor, [total])[0].item() == 6
    assert run(executor, [total], -X)[0].item() == 6


def test_branches_inside_branches(executor, x):
    total = paddle.sum(x)

    def positive():
        return static.nn.cond(total > 5, lambda: x * 10, lambda: x * 2)

    out = static.nn.cond(total > 0, positive, lambda: x * 0)
    for value, factor in ((X, 10), (X / 3, 2), (-X, 0)):
        np.testing.assert_allclose(run(executor, [out], value)[0], value * factor, rtol=1e-6)


def test_cases(executor, x):
    total = paddle.sum(x)
    pairs = [(total > 10, lambda: x * 3), (total > 1, lambda: x * 2)]
    with_default = static.nn.case(pairs, lambda: x * 0)
    without = static.nn.case(pairs)
    for value, factors in ((X * 10, (3, 3)), (X, (2, 2)), (-X, (0, 2))):
        found = run(executor, [with_default, without], value)
        np.testing.assert_allclose(found, [value * factor for factor in factors])


@pytest.mark.parametrize("index, factor", [(1, 1), (3, 7), (4, 0)])
def test_switch_case(executor, x, index, factor):
    number = paddle.full([1], index, "int64")
    out = static.nn.switch_case(number, {3: lambda: x * 7, 1: lambda: x}, lambda: x * 0)
    np.testing.assert_allclose(run(executor, [out])[0], X * factor)


def test_switch_of_1x(executor, x):
    rate = layers.create_global_var([1], 0.0, "float32", persistable=True, name="rate")
    total = layers.reduce_sum(x)
    one, two = (layers.fill_constant([1], "float32", value) for value in (1.0, 2.0))
    with layers.Switch() as switch:
        with switch.case(layers.less_than(total, one)):
            layers.assign(one * 0.1, rate)
        with switch.case(layers.less_than(total, two * 5.0)):
            layers.assign(one * 0.2, rate)
        with switch.default():
            layers.assign(one * 0.3, rate)
    executor.run(fluid.default_startup_program())
    for value, expected in ((-X, 0.1), (X, 0.2), (X * 3, 0.3)):
        assert run(executor, [rate], value)[0].item() == pytest.approx(expected)


def test_a_warm_up_of_1x(executor):
    """A schedule that programs of 1.x write themselves; the numbers are Paddle 1.8.5's."""
    loss = layers.mean(layers.fc(fluid.data("x", [None, 3]), 1))
    rate = layers.create_global_var([1], 0.0, "float32", persistable=True, name="learning_rate")
    with fluid.default_main_program()._lr_schedule_guard():
        step = layers.learning_rate_scheduler._decay_step_counter()
        warm = layers.fill_constant([1], "float32", 5.0, force_cpu=True)
        with layers.control_flow.Switch() as switch:
            with switch.case(step < warm):
                layers.tensor.assign(input=0.5 * (step / 5.0), output=rate)
            with switch.default():
                epoch = layers.ops.floor(step / 3)
                decayed = 0.5 * (layers.ops.cos(epoch * (math.pi / 4)) + 1) / 2
                layers.tensor.assign(input=decayed, output=rate)
    fluid.optimizer.Momentum(rate, 0.9).minimize(loss)
    executor.run(fluid.default_startup_program())
    found = [run(executor, [rate], X.reshape(1, 3))[0].item() for _ in range(10)]
    expected = [0, 0.1, 0.2, 0.3, 0.4, 0.42677671, 0.25, 0.25, 0.25, 0.07322331]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_layers_inside_branches(executor, x):
    row = paddle.reshape(x, [1, 3])
    wide = static.nn.cond(
        paddle.sum(x) > 0, lambda: static.nn.fc(row, 2), lambda: static.nn.fc(row, 2)
    )
    names = [p.name for p in static.default_main_program().global_block().all_parameters()]
    assert len(names) == 4
    executor.run(static.default_startup_program())
    assert run(executor, [wide])[0].shape == (1, 2)
    assert not np.allclose(run(executor, [wide])[0], -run(executor, [wide], -X)[0])


# ---- loops


def test_while_loop(executor, x):
    start = [paddle.full([1], 0, "int64"), paddle.zeros([3])]
    count, total = static.nn.while_loop(
        lambda i, s: i < 10, lambda i, s: [i + 1, s + x * paddle.cast(i, "float32")], start
    )
    found = run(executor, [count, total])
    assert found[0].item() == 10
    np.testing.assert_allclose(found[1], X * 45)


def test_a_loop_takes_old_values_of_all_variables(executor, x):
    """Fibonacci: both variables change from the old ones."""
    start = [paddle.full([1], value, "int64") for value in (0, 0, 1)]
    loop = static.nn.while_loop(lambda i, a, b: i < 10, lambda i, a, b: [i + 1, b, a + b], start)
    assert [int(one.item()) for one in executor.run(fetch_list=loop)] == [10, 55, 89]


def test_while_of_1x(executor, x):
    i = layers.fill_constant([1], "int64", 0)
    end = layers.fill_constant([1], "int64", 4)
    total = layers.fill_constant([3], "float32", 0.0)
    cond = layers.less_than(i, end)
    loop = layers.While(cond=cond)
    with loop.block():
        layers.assign(layers.elementwise_add(total, x), total)
        layers.increment(i)
        layers.less_than(i, end, cond=cond)
    np.testing.assert_allclose(run(executor, [total])[0], X * 4)


def test_a_loop_with_a_branch(executor, x):
    def body(i, s):
        odd = paddle.equal(i % 2, paddle.full([1], 1, "int64"))
        return [i + 1, static.nn.cond(odd, lambda: s + x, lambda: s)]

    start = [paddle.full([1], 0, "int64"), paddle.zeros([3])]
    _, total = static.nn.while_loop(lambda i, s: i < 5, body, start)
    np.testing.assert_allclose(run(executor, [total])[0], X * 2)


# ---- prints


@pytest.mark.parametrize("word", [static.Print, layers.Print])
def test_print(executor, x, word, capfd):
    out = word(x, first_n=2, message="look", summarize=2)
    for _ in range(3):
        np.testing.assert_allclose(run(executor, [out])[0], X)
    text = (
        "Variable: x\n  - message: look\n  - place: Place(cpu)\n  - shape: [3]\n"
        "  - dtype: float32\n  - data: [1 2 ...]\n"
    )
    assert capfd.readouterr().out == 2 * text


def test_gradients_are_printed_too(executor, x, capfd):
    x.stop_gradient = False
    seen = static.Print(x, print_phase="backward", print_tensor_type=False)
    (grad,) = static.gradients(paddle.sum(seen * 2.0), x)
    np.testing.assert_allclose(run(executor, [grad])[0], [2, 2, 2])
    assert "data: [2 2 2]" in capfd.readouterr().out


# ---- programs


def test_the_op_names_what_its_block_uses(executor, x):
    static.nn.cond(paddle.sum(x) > 0, lambda: x * 2, lambda: x)
    ops = static.default_main_program().global_block().ops
    blocks = [op for op in ops if op.has_attr("sub_block")]
    assert [op.type for op in blocks] == ["conditional_block"] * 2
    written = [op.output("Out") for op in blocks]
    assert all(op.input("Input") == ["x"] for op in blocks)
    assert ops[-1].type == "select_input" and ops[-1].input("X") == written[1] + written[0]


def test_programs_with_blocks_travel(executor, x):
    out = static.nn.cond(paddle.sum(x) > 0, lambda: x * 2, lambda: x - 1)
    copy = static.Program.parse_from_string(
        static.default_main_program().desc.serialize_to_string()
    )
    found = executor.run(copy, feed={"x": X}, fetch_list=[out.name])
    np.testing.assert_allclose(found[0], X * 2)


def test_gradients_flow_through_the_branch_that_ran(executor, x):
    x.stop_gradient = False
    w = static.create_parameter([3], "float32", attr=paddle.nn.initializer.Constant(2.0))
    v = static.create_parameter([3], "float32", attr=paddle.nn.initializer.Constant(3.0))
    scaled = x * w

    def more():
        squared = scaled * scaled
        return static.nn.cond(paddle.sum(x) > 10, lambda: squared * v, lambda: squared)

    out = static.nn.cond(paddle.sum(x) > 0, more, lambda: scaled + v)
    grads = static.gradients([paddle.sum(out)], [w, v, x])
    executor.run(static.default_startup_program())
    zero, one = np.zeros(3), np.ones(3)
    for value, expected in (
        (X * 2, [2 * 2 * 4 * X * X * 3, 4 * 4 * X * X, 2 * 4 * 2 * X * 3]),
        (X, [2 * 2 * X * X, zero, 2 * 4 * X]),
        (-X, [-X, one, 2 * one]),
    ):
        found = run(executor, grads, value)
        assert len(found) == 3
        for ours, right in zip(found, expected):
            np.testing.assert_allclose(ours, right, rtol=1e-6)


def test_sparse_gradients_flow_through_branches(executor, x):
    ids = static.data("ids", [2], "int64")
    w = static.create_parameter([5, 3], "float32", attr=paddle.nn.initializer.Constant(1.0))
    rows = lambda: paddle.nn.functional.embedding(ids, w, sparse=True) * x  # noqa: E731
    loss = paddle.sum(static.nn.cond(paddle.sum(x) > 0, rows, lambda: paddle.stack([x, x])))
    paddle.optimizer.SGD(1.0).minimize(loss)
    executor.run(static.default_startup_program())
    expected = np.ones((5, 3), "float32")
    for value in (-X, X, -X, X):
        feed = {"x": value, "ids": np.array([1, 1])}
        found = np.array(executor.run(feed=feed, fetch_list=[w])[0])
        expected[1] -= 2 * X if value[0] > 0 else 0
        np.testing.assert_allclose(found, expected)


def rounds_of(x, w, rounds):
    """What the loop below computes."""
    s, t, kept = x * w, np.zeros(3), np.ones(3)
    for _ in range(rounds):
        kept = t * w
        t = (np.tanh(s) * w if s.sum() > 1 else s - w) + 0.5 * t
        s = s + t * x
    return np.sum(s * s) + np.sum(kept)


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_gradients_flow_through_a_loop(executor, x, rounds):
    x.stop_gradient = False
    w = static.create_parameter([3], "float32", attr=paddle.nn.initializer.Constant(0.5))
    limit = static.data("limit", [1], "int64")
    constants = paddle.full([1], 0, "int64"), paddle.zeros([3]), paddle.ones([3])

    def body(i, s, t, kept):
        more = lambda: paddle.tanh(s) * w  # noqa: E731
        new = static.nn.cond(paddle.sum(s) > 1, more, lambda: s - w) + 0.5 * t
        return i + 1, s + new * x, new, t * w

    i, t, kept = constants
    before = x * w
    loop = static.nn.while_loop(lambda i, *_: i < limit, body, [i, before, t, kept])
    loss = paddle.sum(loop[1] * loop[1]) + paddle.sum(loop[3])
    grads = static.gradients([loss], [w, x])
    executor.run(static.default_startup_program())
    for value in (X, -X, X / 4):
        feed = {"x": value, "limit": np.array([rounds])}
        found = executor.run(feed=feed, fetch_list=[loss, *grads])
        one, half, step = value.astype("float64"), np.full(3, 0.5), 1e-6
        np.testing.assert_allclose(found[0][0], rounds_of(one, half, rounds), rtol=1e-5)
        for axis, move in enumerate(np.eye(3) * step):
            by_w = rounds_of(one, half + move, rounds) - rounds_of(one, half - move, rounds)
            by_x = rounds_of(one + move, half, rounds) - rounds_of(one - move, half, rounds)
            assert found[1][axis] == pytest.approx(by_w / (2 * step), rel=1e-4, abs=1e-4)
            assert found[2][axis] == pytest.approx(by_x / (2 * step), rel=1e-4, abs=1e-4)


# ---- gradients through a loop inside a loop


def by_differences(function, at, step=1e-6):
    """The gradient of a function of one array, of numpy alone."""
    moves = np.eye(at.size).reshape(at.size, *at.shape) * step
    slopes = [(function(at + move) - function(at - move)) / (2 * step) for move in moves]
    return np.array(slopes).reshape(at.shape)


def assert_slopes(function, x, found):
    """The gradients for x and for W of ``function`` of both, of numpy alone."""
    w = np.array(W)
    by_x = by_differences(lambda x: function(x, w), x)
    by_w = by_differences(lambda w: function(x, w), w)
    np.testing.assert_allclose(found[0], by_x, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[1], by_w, rtol=1e-6, atol=1e-7)


def while_rounds(rounds, body, start):
    """`body` applied `rounds` times, a variable; what `body` takes and gives is a list.

    A loop writes to the variables that it starts from: copies, here."""
    start = [paddle.zeros([1], "int64"), *map(paddle.assign, start)]
    step = lambda i, *values: [i + 1, *body(i, *values)]  # noqa: E731
    return static.nn.while_loop(lambda i, *_: i < rounds, step, start)[1:]


def unrolled(rounds, body, start):
    """The same for a number, without a loop."""
    for i in range(rounds):
        start = body(paddle.full([1], i, "int64"), *start)
    return start


def nest(repeat, outer, inner, x, w):
    """A loop whose body has a loop before and behind other work, and a branch in the inner one."""

    def deep(j, s, t):
        new = static.nn.cond(paddle.sum(s) > 1, lambda: paddle.tanh(s) * w, lambda: s - w)
        return [new + 0.25 * t, t + 0.5 * s * x]

    def body(i, s, t, kept):
        before = s * w
        s, t2 = repeat(inner(i), deep, [before, 0.5 * t])
        s = s + before * paddle.cast(i + 1, s.dtype)
        return [paddle.tanh(s), t2 + t * s, t2 * w]

    zero = paddle.zeros([3], x.dtype)
    s, t, kept = repeat(outer, body, [x * w, zero + 0.5, x * x])
    return paddle.sum(s * s) + paddle.sum(t) + paddle.sum(kept)


def nest_by_numpy(outer, inner, x, w):
    s, t, kept = x * w, np.full(3, 0.5), x * x
    for i in range(outer):
        before, t2 = s * w, 0.5 * t
        s = before
        for _ in range(inner(i)):
            new = np.tanh(s) * w if s.sum() > 1 else s - w
            s, t2 = new + 0.25 * t2, t2 + 0.5 * s * x
        s = s + before * (i + 1)
        s, t, kept = np.tanh(s), t2 + t * s, t2 * w
    return np.sum(s * s) + np.sum(t) + np.sum(kept)


def parameter(value, dtype="float64"):
    start = paddle.nn.initializer.Assign(np.array(value))
    return static.create_parameter([3], dtype, attr=paddle.ParamAttr(initializer=start))


W = [0.7, -0.4, 0.9]


@pytest.mark.parametrize("outer, inner", [(0, 2), (1, 0), (1, 1), (3, 2), (2, 5)])
def test_gradients_flow_through_a_loop_inside_a_loop(executor, outer, inner):
    x, w = static.data("x", [3], "float64"), parameter(W)
    x.stop_gradient = False
    rounds = [static.data(name, [1], "int64") for name in ("outer", "inner")]
    loss = nest(while_rounds, rounds[0], lambda i: rounds[1], x, w)
    plain = nest(unrolled, outer, lambda i: inner, x, w)
    fetched = [loss, *static.gradients(loss, [x, w]), plain, *static.gradients(plain, [x, w])]
    executor.run(static.default_startup_program())
    for value in (X / 2, -X / 3, X / 2):
        value = value.astype("float64")
        feed = {"x": value, "outer": np.array([outer]), "inner": np.array([inner])}
        found = executor.run(feed=feed, fetch_list=fetched)
        for ours, other in zip(found[:3], found[3:]):
            np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-12)
        by_numpy = functools.partial(nest_by_numpy, outer, lambda i: inner)
        assert found[0] == pytest.approx(by_numpy(value, np.array(W)), rel=1e-12)
        assert_slopes(by_numpy, value, found[1:3])


def test_the_inner_loop_may_run_another_number_of_times_in_each_round(executor):
    """A triangle: as many inner rounds as the number of the outer one."""
    x, w = static.data("x", [3], "float64"), parameter(W)
    x.stop_gradient = False
    limit = static.data("limit", [1], "int64")
    loss = nest(while_rounds, limit, lambda i: i, x, w)
    grads = static.gradients(loss, [x, w])
    executor.run(static.default_startup_program())
    value = X.astype("float64") / 2
    for rounds in (4, 1, 3):
        feed = {"x": value, "limit": np.array([rounds])}
        found = executor.run(feed=feed, fetch_list=grads)
        assert_slopes(functools.partial(nest_by_numpy, rounds, lambda i: i), value, found)


def loops_of_paddle(x, w, outer, inner, branch, tanh=np.tanh, repeat=None, cond=None):
    """For numpy; for a program with ``repeat`` and ``cond``."""

    def plain(rounds, body, start):
        for i in range(rounds):
            start = body(i, *start)
        return start

    cond = cond or (lambda s, yes, no: yes() if s.sum() > 1 else no())
    repeat = repeat or plain

    def deep(j, s, t):
        slow = lambda: tanh(s) * w  # noqa: E731
        new = cond(s, slow, lambda: s - w) if branch else slow()
        return [new + 0.25 * t, t + 0.5 * s * x]

    def body(i, s, t):
        before = s * w
        s, t_inside = repeat(inner, deep, [before, 0.5 * t])
        s = s + before * 0.5
        return [tanh(s), t_inside + t * s]

    s, t = repeat(outer, body, [x * w, x * 0.3])
    return (s * s).sum() + t.sum()


@pytest.mark.parametrize(
    "branch, outer, inner, recorded",
    [
        (False, 2, 3, [0.98149669, 2.86734200, -0.15673187, 1.17643785, 6.65943766, 0.19131798]),
        (False, 1, 1, [0.63168174, 1.03407812, -0.14513892, 0.60920835, 2.13653469, 0.22629681]),
        (False, 0, 2, [0.66000003, 1.01999998, 0.08399999, 0.30000001, 1.20000005, 0.10800001]),
        # The slopes of 2.6.2's own losses are ours, not its gradients: 0.0566 and -1e10 first.
        (True, 2, 3, None),
        (True, 1, 1, None),
        (False, 3, 0, None),
    ],
)
def test_loops_inside_loops_have_the_gradients_of_paddle(executor, branch, outer, inner, recorded):
    x = static.data("x", [3])
    x.stop_gradient = False
    same = paddle.nn.initializer.Constant(0.6)
    w = static.create_parameter([3], "float32", default_initializer=same)
    rounds = [static.data(name, [1], "int64") for name in ("outer", "inner")]
    cond = lambda s, yes, no: static.nn.cond(paddle.sum(s) > 1, yes, no)  # noqa: E731
    loss = loops_of_paddle(x, w, *rounds, branch, paddle.tanh, while_rounds, cond)
    grads = static.gradients(loss, [x, w])
    executor.run(static.default_startup_program())
    value = np.array([0.5, 1.0, -0.3])
    feed = {"x": value.astype("float32"), "outer": [outer], "inner": [inner]}
    found = executor.run(feed=feed, fetch_list=grads)
    if recorded is not None:
        np.testing.assert_allclose(np.ravel(found), recorded, rtol=2e-6, atol=1e-7)
    by_numpy = lambda x, w: loops_of_paddle(x, w, outer, inner, branch)  # noqa: E731
    by_x = by_differences(lambda x: by_numpy(x, np.full(3, 0.6)), value)
    by_w = by_differences(lambda w: by_numpy(value, w), np.full(3, 0.6))
    np.testing.assert_allclose(np.ravel(found), np.ravel([by_x, by_w]), rtol=1e-5, atol=1e-6)


def test_gradients_flow_through_three_loops(executor):
    """s becomes tanh(s * w) + x, 2 * 3 * 2 times."""
    x, w = static.data("x", [3], "float64"), parameter(W)
    x.stop_gradient = False
    deepest = lambda i, s: [paddle.tanh(s * w) + x]  # noqa: E731
    middle = lambda i, s: while_rounds(2, deepest, [s])  # noqa: E731
    (last,) = while_rounds(2, lambda i, s: while_rounds(3, middle, [s]), [x * 1.0])
    grads = static.gradients(paddle.sum(last * last), [x, w])
    executor.run(static.default_startup_program())

    def by_numpy(x, w):
        s = x
        for _ in range(12):
            s = np.tanh(s * w) + x
        return np.sum(s * s)

    value = X.astype("float64") / 2
    found = executor.run(feed={"x": value}, fetch_list=grads)
    assert_slopes(by_numpy, value, found)


@pytest.mark.parametrize("inner", [0, 1, 3])
def test_loops_of_1x_that_write_the_same_variable(executor, inner):
    """Both loops and a branch in them change `total`, which stands outside of both."""
    x, w = layers.data("x", [3], append_batch_size=False, dtype="float64"), parameter(W)
    x.stop_gradient = False
    total = layers.assign(x * w)
    one, outer_end, inner_end = (layers.fill_constant([1], "int64", n) for n in (1, 3, inner))
    i = layers.fill_constant([1], "int64", 0)
    more = layers.less_than(i, outer_end)
    outer = layers.While(cond=more)
    with outer.block():
        layers.assign(layers.tanh(total) * x, total)
        j = layers.fill_constant([1], "int64", 0)
        more_inside = layers.less_than(j, inner_end)
        loop = layers.While(cond=more_inside)
        with loop.block():
            with layers.Switch() as switch, switch.case(layers.less_than(j, one)):
                layers.assign(total * total, total)
            layers.assign(total * w + x, total)
            layers.increment(j)
            layers.less_than(j, inner_end, cond=more_inside)
        layers.increment(i)
        layers.less_than(i, outer_end, cond=more)
    grads = static.gradients(layers.reduce_sum(total * total), [x, w])
    executor.run(static.default_startup_program())

    def by_numpy(x, w):
        total = x * w
        for _ in range(3):
            total = np.tanh(total) * x
            for j in range(inner):
                total = (total * total if j < 1 else total) * w + x
        return np.sum(total * total)

    value = X.astype("float64") / 2
    found = executor.run(feed={"x": value}, fetch_list=grads)
    assert_slopes(by_numpy, value, found)


@pytest.mark.parametrize("rounds", [0, 1])
def test_what_a_loop_does_not_write_keeps_its_gradient(executor, x, rounds):
    """Without a round `kept`, which the body never reads, is what it was in front of the loop."""
    x.stop_gradient = False
    limit = static.data("limit", [1], "int64")
    kept = while_rounds(limit, lambda i, s, kept: [s, s * 2], [x * 1, x * 3])[1]
    grads = static.gradients(paddle.sum(kept), [x])
    found = executor.run(feed={"x": X, "limit": np.array([rounds])}, fetch_list=grads)
    np.testing.assert_allclose(found[0], [2 if rounds else 3] * 3)


def test_two_gradients_of_one_loop(executor, x):
    x.stop_gradient = False
    (cube,) = while_rounds(2, lambda i, s: [s * x], [x * 1])
    first = static.gradients(paddle.sum(cube), [x])
    second = static.gradients(paddle.sum(cube * cube), [x])
    found = run(executor, [*first, *second])
    np.testing.assert_allclose(found, [3 * X**2, 6 * X**5], rtol=1e-5)


def test_a_branch_may_leave_what_was_there(executor, x):
    x.stop_gradient = False
    total = layers.assign(x * 2)
    for factor, at_least in ((3.0, 0.0), (5.0, 100.0)):
        limit = layers.fill_constant([1], "float32", at_least)
        with layers.Switch() as switch, switch.case(layers.reduce_sum(x) > limit):
            layers.assign(total * total * factor, total)
    grads = static.gradients(paddle.sum(total), [x])
    for value, slope in ((X, 24 * X), (-X, [2, 2, 2])):
        np.testing.assert_allclose(run(executor, grads, value)[0], slope)
    big = X * 100  # 5 * (3 * (2x)^2)^2 = 720 x^4
    np.testing.assert_allclose(run(executor, grads, big)[0], 2880 * big**3, rtol=1e-5)


def test_an_inner_loop_trains(executor, x):
    """A Newton iteration in each step of an outer loop; the loss falls to nothing."""
    w = static.create_parameter([3], "float32", attr=paddle.nn.initializer.Constant(0.5))
    newton = lambda j, r, s: [(r + s / r) * 0.5, s]  # noqa: E731
    outer = lambda i, s: [while_rounds(4, newton, [s, s * w * w + x])[0]]  # noqa: E731
    (root,) = while_rounds(2, outer, [x * 1])
    loss = paddle.mean((root - x * 1.5) ** 2)
    paddle.optimizer.Adam(0.05).minimize(loss)
    executor.run(static.default_startup_program())
    losses = [run(executor, [loss])[0].item() for _ in range(200)]
    assert losses[-1] < 1e-3 < losses[0]


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda x: static.nn.cond(x > 0, lambda: x, lambda: x), r"must be one bool, but .* is bool\[3\]"),
        (lambda x: static.nn.cond(True, lambda: x, lambda: x), "must be a variable, but is of type bool"),
        (lambda x: static.nn.cond(one(x), lambda: x, lambda: (x, x)), "one returns 1 variables and another 2"),
        (lambda x: static.nn.cond(one(x), lambda: x, lambda: x > 0), "float32 where another returns bool"),
        (lambda x: static.nn.cond(one(x), 3, lambda: x), "true_fn must be a function, but is of type int"),
        (lambda x: static.nn.cond(one(x), lambda: x), "without a counterpart must return nothing"),
        (lambda x: static.nn.case([one(x)]), "a list of pairs|a condition and a function"),
        (lambda x: static.nn.while_loop(lambda a: one(a), lambda a: [a, a], [x]), "1, but returns 2"),
        (lambda x: static.nn.while_loop(one, lambda a: a, []), "must hold a variable"),
        (lambda x: static.nn.switch_case(x, [(1, one), (1, one)]), "must differ"),
        (lambda x: static.nn.switch_case(x, [x]), "a pair of switch_case is a number and a function"),
    ],
)  # fmt: skip
def test_wrong_calls(x, make, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make(x)
    assert static.default_main_program().current_block().idx == 0


def one(x):
    return paddle.sum(x) > 0


def in_switch(x, fails):
    with layers.Switch() as switch, switch.case(one(x)):
        fails()


def in_while(x, fails):
    with layers.While(one(x)).block():
        fails()


@pytest.mark.parametrize(
    "make",
    [
        lambda x, fails: static.nn.cond(one(x), fails, lambda: x),
        lambda x, fails: static.nn.cond(one(x), lambda: static.nn.fc(x, 2), fails),
        lambda x, fails: static.nn.case([(one(x), lambda: x), (one(x), fails)]),
        lambda x, fails: static.nn.switch_case(paddle.full([1], 1, "int64"), [lambda: x, fails]),
        lambda x, fails: static.nn.while_loop(one, lambda a: fails(), [x]),
        lambda x, fails: static.nn.while_loop(lambda a: fails(), lambda a: a, [x]),
        in_switch,
        in_while,
    ],
)
@pytest.mark.parametrize("error", [TypeError("'int' object is not callable"), KeyError(3)])
def test_what_a_function_raises_comes_out_unchanged(x, make, error):
    """The program is as it was: no branch that nobody asked for runs."""
    row, counter = paddle.reshape(x, [1, 3]), paddle.full([1], 0, "int64")
    programs = static.default_main_program(), static.default_startup_program()

    def fails():
        static.nn.cond(one(row), lambda: static.nn.fc(row, 2), lambda: static.nn.fc(row, 2))
        layers.autoincreased_step_counter()
        paddle.assign(counter + 1, counter)
        raise error

    with pytest.raises(type(error)) as raised:
        make(row, fails)
    assert raised.value is error and str(raised.traceback[-1].name) == "fails"
    for program in programs:
        assert program.current_block().idx == 0
        assert not any(op.has_attr("sub_block") for op in program.global_block().ops)
        assert not program.all_parameters()
        assert not any(block.ops or block.vars for block in program.blocks[1:])
    assert not programs[0].global_block().has_var("@STEP_COUNTER@")


def foreign(dtype="float32"):
    """A variable whose program nothing else keeps."""
    with static.program_guard(static.Program()):
        return static.data("foreign", [1], dtype)


def test_variables_keep_their_programs(x):
    loop, switch = layers.While(foreign("bool")), layers.Switch()
    with static.program_guard(static.Program()):
        branch = switch.case(static.data("foreign", [1], "bool"))
    gc.collect()
    for block in (loop.block(), branch):
        with block:
            paddle.assign(x)
        op = static.default_main_program().global_block().ops[-1]
        assert op.has_attr("sub_block") and "foreign" in op.input_arg_names
    with pytest.raises(RuntimeError, match="the program has no variable"):
        static.nn.cond(one(x), foreign, foreign)
    with pytest.raises(RuntimeError, match="the program has no variable"):
        static.nn.while_loop(lambda a: one(x), lambda a: foreign(), [x])
    with pytest.raises(RuntimeError, match="the program has no variable"):
        static.nn.while_loop(lambda a: foreign("bool"), lambda a: a, [x])


def test_ctrl_c_ends_a_loop_without_end():
    code = (
        "import paddle\n"
        "from paddle.fluid import layers\n"
        "paddle.enable_static()\n"
        "go = layers.fill_constant([1], 'bool', True)\n"
        "n = layers.fill_constant([1], 'int64', 0)\n"
        "loop = layers.While(go)\n"
        "with loop.block():\n"
        "    layers.increment(n)\n"
        "print('begins', flush=True)\n"
        "paddle.static.Executor().run()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        job.stdout.readline()
        time.sleep(0.3)
        job.send_signal(signal.SIGINT)
        _, err = watched.communicate(job)
    assert err.rstrip().endswith("KeyboardInterrupt")
