"""First values of parameters that take more than one number."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static
from paddle.nn import initializer


def value(name):
    return np.array(static.global_scope().find_var(name).get_tensor())


def first_value(executor, init, shape, dtype="float32"):
    static.create_parameter(shape, dtype, attr=paddle.ParamAttr("w", init))
    executor.run(static.default_startup_program())
    return value("w")


@pytest.mark.parametrize(
    "init",
    [initializer.Bilinear, fluid.initializer.Bilinear, fluid.initializer.BilinearInitializer],
)
def test_bilinear(executor, init):
    """The numbers are those of 2.6.2 and 1.8.5."""
    found = first_value(executor, init(), [2, 1, 3, 3])
    rows = [[0.0625, 0.3125, 0.4375], [0.1875, 0.6875, 0.6875], [0.1875, 0.4375, 0.3125]]
    np.testing.assert_allclose(found, [[rows]] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    "shape, groups, places",
    [
        ([3, 2, 3], 1, [(0, 0, 1), (1, 1, 1)]),
        ([4, 2, 3], 2, [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1)]),
        ([2, 3, 2, 3], 1, [(0, 0, 1, 1), (1, 1, 1, 1)]),
        ([1, 1, 3, 3, 3], 1, [(0, 0, 1, 1, 1)]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dirac(executor, shape, groups, places, dtype):
    found = first_value(executor, initializer.Dirac(groups), shape, dtype)
    expected = np.zeros(shape)
    for place in places:
        expected[place] = 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [[3, 4], [4, 3], [5, 5], [2, 3, 2]])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_orthogonal(executor, shape, dtype):
    static.default_startup_program().random_seed = 3
    found = first_value(executor, initializer.Orthogonal(gain=2.0), shape, dtype)
    matrix = found.reshape(shape[0], -1)
    matrix = matrix if len(matrix) <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-5)
    executor.run(static.default_startup_program())
    np.testing.assert_array_equal(value("w"), found)  # the seed says what is drawn


def test_orthogonal_prefers_no_sign(executor):
    init = initializer.Orthogonal()
    for i in range(200):
        static.create_parameter([2, 2], "float32", attr=paddle.ParamAttr(f"w{i}", init))
    executor.run(static.default_startup_program())
    found = np.array([value(f"w{i}") for i in range(200)])
    assert np.abs(found.mean(0)).max() < 0.2


@pytest.mark.parametrize(
    "init, shape, sentence",
    [
        (initializer.Bilinear(), [2, 3, 3], "Bilinear fills filters of shape"),
        (initializer.Bilinear(), [1, 1, 2, 3], "Bilinear fills filters of shape"),
        (initializer.Dirac(), [2, 3], "Dirac fills filters of 3 to 5 axes"),
        (initializer.Dirac(2), [3, 3, 3], "2 groups do not fit the shape"),
        (initializer.Dirac(0), [3, 3, 3], "0 groups do not fit the shape"),
        (initializer.Orthogonal(), [3], "Orthogonal fills parameters of two axes or more"),
    ],
)
def test_shapes_that_do_not_fit(init, shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        static.create_parameter(shape, "float32", attr=paddle.ParamAttr(initializer=init))
