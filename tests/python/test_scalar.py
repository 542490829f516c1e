"""Results of one element: arrays of shape (1,) that print and format like numbers, on any numpy."""

# ruff: noqa: UP031, UP032 (the formats are what is tested)

import json
import math
import pickle

import numpy as np
import paddle
import pytest
from paddle import static
from paddle.base.executor import Scalar


@pytest.fixture
def loss(executor):
    x = static.data("x", [None, 3])
    block = static.default_main_program().global_block()
    block.append_op("mean", {"X": x}, {"Out": "loss"})
    return executor.run(feed={"x": np.full((2, 3), 0.25, "float32")}, fetch_list=["loss"])[0]


def test_it_has_the_shape_of_1_x(loss):
    assert loss.shape == (1,) and loss.dtype == np.float32
    assert isinstance(loss, np.ndarray)
    assert loss[0] == 0.25 and type(loss[0]) is np.float32


def test_formats_like_a_number(loss):
    assert "%.5f" % loss == "0.25000"
    assert "%d" % loss == "0"
    assert f"{loss:.3f}" == "0.250"
    assert "{:.2e}".format(loss) == "2.50e-01"
    assert "%f %s" % (loss, loss) == "0.250000 [0.25]"


def test_prints_like_an_array(loss):
    assert str(loss) == "[0.25]" == "{}".format(loss) == f"{loss}"
    assert repr(loss) == "array([0.25], dtype=float32)"
    assert str([loss]) == "[array([0.25], dtype=float32)]"


def test_converts_like_a_number(loss):
    assert float(loss) == 0.25 and int(loss) == 0 and round(loss, 1) == 0.2
    assert not math.isnan(loss) and math.sqrt(loss) == 0.5
    assert bool(loss < 1) and json.dumps(loss.tolist()) == "[0.25]"
    count = np.array([3]).view(Scalar)
    assert list(range(10))[count] == 3


def test_what_is_computed_from_it_is_one_element_or_an_array(loss):
    assert "%.2f" % (loss * 2) == "0.50" and (loss * 2).shape == (1,)
    assert "%.2f" % (1 - loss) == "0.75"
    many = loss + np.zeros(3, "float32")
    assert type(many) is np.ndarray and many.shape == (3,)
    assert np.mean([loss, loss]) == 0.25
    assert "%.2f" % np.mean(loss) == "0.25"
    total = 0.0
    total += loss
    assert "%.2f" % total == "0.25"


def test_pickles_as_a_plain_array(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert type(again) is np.ndarray and again.tolist() == [0.25]


def test_results_of_many_elements_are_plain_arrays(executor):
    static.data("x", [None, 3])
    (x,) = executor.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=["x"])
    assert type(x) is np.ndarray


def test_a_tensor_of_one_element_converts_too(executor):
    tensor = paddle.fluid.LoDTensor()
    tensor.set(np.array([2.5], "float32"), paddle.CPUPlace())
    assert float(tensor) == 2.5 and int(tensor) == 2
    assert type(np.array(tensor)) is np.ndarray
