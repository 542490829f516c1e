"""Methods of variables: every function here that is one in Paddle 2.6.2."""

import pathlib
import warnings

import numpy as np
import paddle
import pytest
from paddle import _words, static
from paddle.nn import functional as F

RECORDED = pathlib.Path(__file__).parents[1] / "oracle" / "recorded" / "methods_2.6.2.txt"
HOMES = (paddle, paddle.linalg, paddle.tensor)
X = np.linspace(0.1, 0.9, 12, dtype="float32").reshape(3, 4)
# What the words in place take besides the variable; all others take nothing.
Y = "paddle.assign(X[::-1].copy())"
WHOLE = "paddle.assign(np.array([[1, 2], [3, 4]]))"
ARGUMENTS = {
    **dict.fromkeys(["add", "divide", "floor_divide", "floor_mod", "hypot", "mod", "multiply"], Y),
    **dict.fromkeys(["equal", "greater_equal", "greater_than", "less_equal", "less_than"], Y),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], "x > 0.7"),
    **dict.fromkeys(["not_equal", "remainder"], Y),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], WHOLE),
    "addmm": "paddle.ones([3, 2]), paddle.ones([2, 4])",
    "cast": "'int32'",
    "clip": "0.2, 0.8",
    "cumprod": "0",
    "index_add": "paddle.assign(np.array([0, 2])), 0, paddle.ones([2, 4])",
    "lerp": f"{Y}, 0.5",
    "masked_fill": "paddle.assign(X > 0.5), 7.0",
    "pow": "2.0",
    "put_along_axis": "paddle.assign(np.array([[0], [1], [2]])), paddle.ones([3, 1]), 1",
    "renorm": "2.0, 0, 1.0",
    "reshape": "[4, 3]",
    "scatter": "paddle.assign(np.array([2, 0])), paddle.ones([2, 4])",
    "subtract": Y,
    "transpose": "[1, 0]",
    "unsqueeze": "0",
    "where": f"x, {Y}",
}
# What they are called on where it is not X.
CALLED_ON = {
    **dict.fromkeys(["acosh"], "paddle.assign(X + 1.0)"),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"], WHOLE),
    **dict.fromkeys(["logical_and", "logical_not", "logical_or", "logical_xor"], "x > 0.5"),
    "where": "x > 0.5",
}


def recorded():
    """{name: module} of the functions that are methods in Paddle."""
    lines = RECORDED.read_text().splitlines()
    pairs = (line.split(": ") for line in lines)
    return {name: module for module, names in pairs for name in names.split()}


def in_place():
    return sorted(name for name in paddle.tensor.in_place.__all__)


def test_every_function_that_is_a_method_in_paddle_is_one_here():
    functions = {
        name: getattr(home, name)
        for name, module in recorded().items()
        for home in HOMES
        if module.startswith("paddle.tensor.") and hasattr(home, name)
    }
    assert [name for name in functions if not hasattr(static.Variable, name)] == []
    assert len(functions) > 280


def test_the_other_methods_of_paddle():
    others = {name for name, module in recorded().items() if "tensor" not in module}
    missing = {name for name in others if not hasattr(static.Variable, name)}
    # Of sparse tensors and of arrays of tensors; Fourier transforms; descriptions of a variable.
    known = {"append", "attr", "indices", "istft", "place", "pop", "stft", "to_dense", "values"}
    assert missing - known == set()


def test_words_in_place_are_paddles():
    paddles = {name for name in recorded() if name.endswith("_")}
    elsewhere = {"erf_", "expm1_", "square_"}  # functions of paddle that are no methods there
    assert set(in_place()) <= paddles | elsewhere
    assert len(in_place()) > 80


@pytest.mark.filterwarnings("ignore:.*in place")
@pytest.mark.parametrize("word", in_place())
def test_words_in_place_compute_out_of_place(executor, word):
    plain, names = word[:-1], {"paddle": paddle, "np": np, "X": X}
    names["x"] = names["self"] = paddle.assign(X)
    if plain in CALLED_ON:
        names["self"] = eval(CALLED_ON[plain], names)
    arguments = ARGUMENTS.get(plain, "")
    made = [
        eval(f"self.{word}({arguments})", names),
        eval(f"self.{plain}({arguments})", names),
        eval(f"paddle.{word}(self, {arguments})", names),
    ]
    before, *found = executor.run(fetch_list=[names["self"], *made])
    assert len({one.name for one in [names["self"], *made]}) == 4
    for one in found[1:]:
        np.testing.assert_array_equal(found[0], one)
    if plain not in CALLED_ON:
        np.testing.assert_array_equal(before, X)


@pytest.mark.parametrize(
    "word", ["elu", "hardtanh", "leaky_relu", "relu", "softmax", "tanh", "thresholded_relu"]
)
@pytest.mark.filterwarnings("ignore:.*in place")
def test_activations_in_place(executor, word):
    x = paddle.assign(X - 0.5)
    found = executor.run(fetch_list=[getattr(F, f"{word}_")(x), getattr(F, word)(x)])
    np.testing.assert_array_equal(*found)


def test_one_notice_for_all_words_in_place(monkeypatch):
    monkeypatch.setattr(_words, "_noticed", [])
    x = static.data("x", [2, 3])
    said = r"reshape_\(\) gives a new variable, as reshape\(\) does"
    with pytest.warns(UserWarning, match=said) as caught:
        assert x.reshape_([3, 2]).shape == (3, 2)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.exp_()
        paddle.tanh_(x)
    assert x.shape == (2, 3)


def test_numbers_drawn_in_place(executor):
    x = paddle.zeros([1000])
    x.exponential_(2.0)
    (found,) = executor.run(fetch_list=[x])
    assert (found > 0).all() and 0.4 < found.mean() < 0.6
    for word in ("uniform_", "normal_", "cauchy_", "geometric_"):
        with pytest.raises(RuntimeError, match=f"{word}\\(\\) draws numbers into a tensor"):
            getattr(x, word)()


def test_sizes(executor):
    x = static.data("x", [None, 3], "float64")
    assert executor.run(feed={"x": np.ones((2, 3))}, fetch_list=[x.size()])[0].item() == 6
    sizes = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "bool": 1}
    made = {dtype: static.data(dtype, [1], dtype).element_size() for dtype in sizes}
    assert made == sizes


def test_what_only_dynamic_graphs_have():
    x = static.data("x", [2])
    with pytest.raises(TypeError, match="has no value while the program is built"):
        x.gradient()
    for word in ("clear_gradient", "register_hook"):
        with pytest.raises(RuntimeError, match="gradients of .* are appended to the program"):
            getattr(x, word)()


def test_methods_that_came_with_the_list(executor):
    x, square = paddle.assign(X), paddle.assign(X[:, :3].copy())
    places = paddle.assign(np.array([[1], [0], [1]], "int32"))
    made = [x.reverse(0), x.cuda(), x.cpu(), square.matrix_power(2), x.hypot(x)]
    made += [x.diagflat().shape, paddle.multiplex([x, x + 1.0], places)]
    shapes = made.pop(5)
    assert shapes == (12, 12)
    expected = [X[::-1], X, X, X[:, :3] @ X[:, :3], X * np.sqrt(2), X + [[1], [0], [1]]]
    for found, wanted in zip(executor.run(fetch_list=made), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_masked_fill(executor):
    x, mask = static.data("x", [3, 4]), static.data("mask", [3, 4], "bool")
    feed = {"x": X, "mask": X > 0.5}
    (found,) = executor.run(feed=feed, fetch_list=[x.masked_fill(mask, -1.0)])
    np.testing.assert_array_equal(found, np.where(X > 0.5, -1, X))


def test_factors_of_matrices(executor):
    x = paddle.assign(X)
    (q, r), triangle, (square, _) = x.qr(), paddle.linalg.qr(x, "r"), x.qr(mode="complete")
    q, r, triangle, square = executor.run(fetch_list=[q, r, triangle, square])
    np.testing.assert_allclose(q @ r, X, atol=1e-6)
    np.testing.assert_array_equal(r, triangle)
    np.testing.assert_allclose(square.T @ square, np.eye(3), atol=1e-6)
    with pytest.raises(ValueError, match='mode must be reduced, complete or r, but is "full"'):
        x.qr("full")
