"""Sizes that no memory holds, and numbers that are no sizes: refused in one sentence, at once."""

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle import static


@pytest.fixture
def x():
    return static.data("x", [6, 8])


def image():
    return static.data("image", [2, 4, 8, 8])


def ids():
    return static.data("ids", [6, 1], "int64")


MOST = "2^55 elements at most"
CASES = {
    "data": (lambda x: static.data("z", [2**62, 8]), MOST),
    "full": (lambda x: paddle.full([2**61, 2**61], 1.0), MOST),
    "no number": (lambda x: paddle.full([float("nan"), 2], 1.0), "a whole number of at most"),
    "half a row": (lambda x: paddle.full([1.5], 1.0), "a whole number of at most 62 bits"),
    "more than 64 bits": (lambda x: paddle.full([2**64], 1.0), "does not fit into 64 bits"),
    "embedding": (lambda x: static.nn.embedding(ids(), [2**62, 8]), MOST),
    "sparse_embedding": (lambda x: static.nn.sparse_embedding(ids(), [2**62, 8]), MOST),
    "fc": (lambda x: static.nn.fc(x, 2**62), MOST),
    "one_hot": (lambda x: F.one_hot(ids(), 2**62), ""),
    "tile": (lambda x: paddle.tile(static.data("z", [2**40]), [2**30]), MOST),
    "interpolate": (lambda x: F.interpolate(image(), scale_factor=1e300), "in [0, 2^55]"),
    # Once 2 ** 40 + 3 was a window of 3 here.
    "a window": (
        lambda x: static.nn.conv2d(image(), 4, 2**40 + 3),
        "1099511627779 does not fit into 32 bits",
    ),
    "paddings": (
        lambda x: static.nn.conv2d(image(), 4, 3, padding=[2**40, 1]),
        "1099511627776 does not fit into 32 bits",
    ),
    "groups": (lambda x: F.maxout(image(), 0), "groups must be above 1, but is 0"),
    "parts": (lambda x: paddle.split(x, 2**62, 1), "split can write 1048576 variables at most"),
}


@pytest.mark.parametrize("name", CASES)
def test_sentence(x, name):
    use, expected = CASES[name]
    with pytest.raises((ValueError, OverflowError)) as caught:
        use(x)
    sentence = str(caught.value).splitlines()[0]
    assert expected in sentence and "std::" not in sentence


def test_a_size_that_only_the_machine_cannot_hold_is_refused_when_it_is_needed(executor):
    large = paddle.full([2**50], 1.0)
    with pytest.raises((ValueError, RuntimeError), match="bytes"):
        executor.run(fetch_list=[large])
    assert executor.run(fetch_list=[paddle.full([2], 1.0)])[0].tolist() == [1.0, 1.0]


def test_a_range_that_is_too_long_is_refused_when_it_runs(executor):
    with pytest.raises(ValueError, match=r"must lie in \[0, 2\^55\]"):
        executor.run(fetch_list=[paddle.arange(0, 2**60)])


def test_a_scalar_without_axes_has_one_element(executor):
    """As programs of Paddle 2.6 write it."""
    scalar = paddle.full([], 2.0)
    total = paddle.sum(paddle.full([3], 1.0))
    (found,) = executor.run(fetch_list=[paddle.where(total > scalar, total, scalar)])
    assert np.array(found).ravel().tolist() == [3.0]
