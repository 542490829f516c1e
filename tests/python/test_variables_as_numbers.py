"""What is known only when the program runs: variables where numbers stand, sizes, conditions."""

import numpy as np
import paddle
import pytest
from paddle import static
from paddle.fluid import layers


def test_shapes_of_random_numbers(executor):
    rows = static.data("rows", [1], "int64")
    whole = static.data("whole", [2], "int32")
    found = [
        paddle.randint(3, 5, shape=[2, rows]),
        paddle.randint(3, 5, shape=whole),
        layers.randint(3, 5, shape=[rows, 2]),
    ]
    for n in (3, 1):
        feed = {"rows": np.array([n]), "whole": np.array([n, 4], "int32")}
        arrays = executor.run(feed=feed, fetch_list=found)
        assert [one.shape for one in arrays] == [(2, n), (n, 4), (n, 2)]
        assert all(3 <= one.min() <= one.max() < 5 for one in arrays)


@pytest.mark.parametrize("words", [paddle, layers])
def test_how_many_are_the_largest(executor, words):
    k = static.data("k", [1], "int32")
    found = words.topk(static.data("x", [2, 4]), k=k)
    x = np.array([[1, 4, 2, 3], [8, 5, 7, 6]], "float32")
    for n in (2, 1, 4):
        values, places = executor.run(feed={"x": x, "k": np.array([n], "int32")}, fetch_list=found)
        np.testing.assert_array_equal(values, -np.sort(-x)[:, :n])
        np.testing.assert_array_equal(places, np.argsort(-x)[:, :n])


@pytest.mark.parametrize("mode, word", [("constant", "constant"), ("edge", "edge")])
def test_paddings(executor, mode, word):
    """Channels stay known, so that a convolution can follow."""
    x, paddings = static.data("x", [2, 3, 4, 5]), static.data("paddings", [4], "int32")
    x.stop_gradient = False
    padded = layers.pad2d(x, paddings, mode)
    assert tuple(padded.shape) == (2, 3, -1, -1)
    out = static.nn.conv2d(padded, 4, 3)
    grad = static.gradients(paddle.sum(padded * padded), x)
    executor.run(static.default_startup_program())
    value = np.arange(120, dtype="float32").reshape(2, 3, 4, 5)
    for top, bottom, left, right in ([1, 2, 0, 3], [0, 0, 1, 0], [2, 2, 2, 2]):
        feed = {"x": value, "paddings": np.array([top, bottom, left, right], "int32")}
        found = executor.run(feed=feed, fetch_list=[padded, out, *grad])
        expected = np.pad(value, [(0, 0), (0, 0), (top, bottom), (left, right)], word)
        np.testing.assert_array_equal(found[0], expected)
        assert found[1].shape == (2, 4, 2 + top + bottom, 3 + left + right)
        if mode == "constant":
            np.testing.assert_array_equal(found[2], 2 * value)


def test_arrays_where_1x_makes_variables_of_them(executor):
    x = np.array([[-1.5, 2.0, 0.0]], "float32")
    found = executor.run(fetch_list=[layers.sign(x), layers.diag(x[0])])
    np.testing.assert_array_equal(found[0], [[-1, 1, 0]])
    np.testing.assert_array_equal(found[1], np.diag(x[0]))


def test_images_of_which_none_is_chosen(executor):
    """Paddle 2.6 refuses them."""
    x, mask = static.data("x", [4, 3, 8, 8]), static.data("mask", [4], "bool")
    x.stop_gradient = False
    chosen = paddle.gather(x, paddle.nonzero(mask))
    out = static.nn.conv2d(static.nn.batch_norm(static.nn.conv2d(chosen, 16, 3), act="relu"), 8, 3)
    pooled = paddle.nn.functional.max_pool2d(out, 2)
    loss = paddle.sum(pooled)
    paddle.optimizer.SGD(0.01).minimize(loss)
    (grad,) = static.gradients(loss, x)
    executor.run(static.default_startup_program())
    value = np.random.RandomState(0).rand(4, 3, 8, 8).astype("float32")
    for chosen in ([1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 0]):
        feed = {"x": value, "mask": np.array(chosen, "bool")}
        found, slope = executor.run(feed=feed, fetch_list=[pooled, grad])
        assert found.shape == (sum(chosen), 8, 2, 2) and np.isfinite(found).all()
        touched = np.abs(slope).sum((1, 2, 3)) > 0
        np.testing.assert_array_equal(touched, np.array(chosen, "bool"))


def test_a_condition_of_unknown_extent(executor):
    x, mask = static.data("x", [4]), static.data("mask", [4], "bool")
    fed = static.data("fed", [-1], "bool")
    chosen = paddle.gather(x, paddle.nonzero(mask)) > 0
    assert tuple(chosen.shape) == (-1,)
    out = static.nn.cond(chosen, lambda: x * 2, lambda: x - 1)
    other = static.nn.cond(fed, lambda: x * 3, lambda: x)
    value = np.array([1.0, -1.0, 2.0, 3.0], "float32")

    def run(mask, fed=(True,)):
        feed = {"x": value, "mask": np.array(mask, "bool"), "fed": np.array(fed)}
        return executor.run(feed=feed, fetch_list=[out, other])

    for mask, expected in (([1, 0, 0, 0], value * 2), ([0, 1, 0, 0], value - 1)):
        found = run(mask)
        np.testing.assert_array_equal(found[0], expected)
        np.testing.assert_array_equal(found[1], value * 3)
    said = r"the condition of conditional_block must be one bool, but .* is bool\[{}\]"
    for mask, extent in (([1, 1, 0, 0], 2), ([0, 0, 0, 0], 0)):
        with pytest.raises(ValueError, match=said.format(extent)):
            run(mask)
    with pytest.raises(ValueError, match=said.format(2)):
        run([1, 0, 0, 0], [True, False])
    np.testing.assert_array_equal(run([1, 0, 0, 0], [False])[1], value)
