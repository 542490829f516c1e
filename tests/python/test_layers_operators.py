"""Operators, indexes and methods of variables, against numpy."""

import os

import numpy as np
import paddle
import pytest
from paddle import static

X = np.arange(24, dtype="float32").reshape(2, 3, 4) - 7
INDEXES = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2],
    np.s_[1, 2, 3],
    np.s_[0:1],
    np.s_[:, 1:],
    np.s_[:, :-1, 2],
    np.s_[..., 0],
    np.s_[..., 1:3],
    np.s_[0, ..., -1],
    np.s_[::-1],
    np.s_[:, ::2],
    np.s_[:, ::-1, 1::2],
    np.s_[None],
    np.s_[:, None, 1],
    np.s_[..., None],
]


def run(executor, variable, feed=None):
    return executor.run(feed={"x": X} if feed is None else feed, fetch_list=[variable])[0]


def data(batch=2):
    return static.data("x", [batch, 3, 4])


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("batch", [2, None])
def test_indexes_are_numpys(executor, index, batch):
    picked = data(batch)[index]
    expected = X[index]
    found = run(executor, picked)
    assert found.shape == (expected.shape or (1,))  # a single element has one axis
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)
    if batch is not None:
        assert picked.shape == (expected.shape or (1,))


@pytest.mark.parametrize("index", ["a", 1.5, [0.5], np.ones(2)], ids=str)
def test_other_indexes_are_refused(index):
    with pytest.raises((TypeError, ValueError), match="index"):
        data()[index]


def some_index(draw):
    """Numbers, ranges, new axes, lists and arrays in any order."""

    def place(extent):
        kind = draw.randint(5)
        if kind == 0:
            return int(draw.randint(-extent, extent))
        if kind == 1:
            return slice(int(draw.randint(extent)), None, int(draw.randint(1, 3)))
        if kind == 2:
            return draw.randint(-extent, extent, [2] if draw.randint(2) else [3, 1])
        return slice(None) if kind == 3 else [int(draw.randint(extent)), 0]

    index = [place(extent) for extent in X.shape[: draw.randint(1, X.ndim + 1)]]
    if draw.randint(3) == 0:
        index.insert(draw.randint(len(index) + 1), None)
    return tuple(index)


def test_indexes_by_arrays_are_numpys(executor):
    draw = np.random.RandomState(1)
    for _ in range(100_000 if os.environ.get("FLT_TEST_FULL") else 100):
        index, wanted = some_index(draw), X.copy()
        try:
            expected = X[index]
        except IndexError:  # shapes that do not fit each other
            continue
        wanted[index] = -1.5
        with static.program_guard(static.Program()):
            picked, changed = data()[index], static.setitem(data(), index, -1.5)
            found, set_ = executor.run(feed={"x": X}, fetch_list=[picked, changed])
        assert found.shape == (expected.shape or (1,)), index
        np.testing.assert_array_equal(found.reshape(expected.shape), expected)
        np.testing.assert_array_equal(set_, wanted)


def test_indexes_by_masks_are_numpys(executor):
    for mask in (X > 0, X[:, :, 0] > 0, X[:, 0, 0] > 0, np.array([True, False])):
        np.testing.assert_array_equal(run(executor, data()[mask]), X[mask])
    rows = data()[:, X[0, :, 0] > 0, 1]
    np.testing.assert_array_equal(run(executor, rows), X[:, X[0, :, 0] > 0, 1])


def test_elements_are_set_in_place(executor):
    x = data() * 1.0
    x[0, :, 1:] = 7.0
    x[x > 5] += 1.0
    expected = X.copy()
    expected[0, :, 1:] = 7.0
    expected[expected > 5] += 1.0
    np.testing.assert_array_equal(run(executor, x), expected)


def test_iteration_goes_along_the_first_axis(executor):
    rows = list(data())
    assert len(rows) == 2
    np.testing.assert_array_equal(run(executor, rows[1]), X[1])


def test_iteration_needs_a_known_extent():
    with pytest.raises(TypeError, match="first extent"):
        iter(data(None))


@pytest.mark.parametrize(
    "expression",
    [
        *("x + 2", "2 + x", "x - 2", "2 - x", "x * 3", "x / 4", "1 / (x + 30)", "-x", "abs(x)"),
        *("x + x", "x * x", "x - x * 2", "(x + 30) ** 0.5", "2.0 ** x", "x // 2", "x % 3"),
        *("np.float32(2) * x", "x < 1", "x <= 0", "x > 2", "x >= -1", "x == 0", "x != 0"),
        *("(x > 0) & (x < 5)", "(x > 0) | (x < -5)", "(x > 0) ^ (x < 5)", "~(x > 0)"),
    ],
)
def test_operators_are_numpys(executor, expression):
    found = run(executor, eval(expression, {"x": data(), "np": np}))
    expected = eval(expression, {"x": X, "np": np})
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert found.dtype == expected.dtype


def test_whole_numbers_follow_paddles_rules(executor):
    k = static.data("k", [3], "int64")
    feed = {"k": np.array([1, 2, 3])}
    for made, dtype, expected in [
        (k + 1, "int64", [2, 3, 4]),
        (k * 2.5, "float32", [2.5, 5, 7.5]),
        (k / 2, "float32", [0.5, 1, 1.5]),
        (k // 2, "int64", [0, 1, 1]),
    ]:
        found = run(executor, made, feed)
        assert made.dtype == dtype and found.dtype == dtype
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("expression", ["k & j", "k | j", "k ^ j", "~k"])
def test_bits_of_whole_numbers(executor, expression):
    numbers = {"k": np.array([12, -5, 7]), "j": np.array([10, 3, 0])}
    names = {name: static.data(name, [3], "int64") for name in numbers}
    made = eval(expression, names)
    feed = {name: number for name, number in numbers.items() if name in expression}
    np.testing.assert_array_equal(run(executor, made, feed), eval(expression, numbers))


@pytest.mark.parametrize("bits", ["&", "|", "^"])
def test_floats_have_no_bits(bits):
    with pytest.raises(TypeError, match="of type bool"):
        eval(f"x {bits} x", {"x": data()})


def test_arrays_are_no_operands():
    with pytest.raises((TypeError, ValueError), match="variables and numbers"):
        np.ones(4, "float32") + data()


def test_variables_are_keys():
    x, y = data(), static.data("y", [1])
    assert {x: 1, y: 2}[y] == 2


@pytest.mark.parametrize(
    "expression",
    [
        *("x.sum()", "x.mean(axis=1)", "x.max(axis=[0, 2])", "x.min(keepdim=True)", "x.abs()"),
        *("x.reshape([4, 6])", "x.transpose([2, 0, 1])", "x.flatten()", "x.unsqueeze(0)", "x.T"),
        *("x.astype('int64')", "x.clip(-1, 1)", "x.square()", "x.detach()", "x.exp()"),
    ],
)
def test_methods(executor, expression):
    numpys = {
        "x.max(axis=[0, 2])": lambda x: x.max(axis=(0, 2)),
        "x.min(keepdim=True)": lambda x: x.min(keepdims=True),
        "x.abs()": np.abs,
        "x.unsqueeze(0)": lambda x: x[None],
        "x.square()": np.square,
        "x.detach()": lambda x: x,
        "x.exp()": np.exp,
    }
    found = run(executor, eval(expression, {"x": data()}))
    expected = numpys.get(expression, lambda x: eval(expression, {"x": x}))(X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


def test_detach_stops_gradients():
    x = data()
    x.stop_gradient = False
    grad, none = static.gradients([x * 2 + x.detach()], [x])[0], None
    assert grad is not none and x.detach().stop_gradient


def test_a_method_is_the_function():
    x = data()
    assert type(x).matmul is paddle.matmul and type(x).topk is paddle.topk
