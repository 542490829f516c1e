"""First values of parameters that take more than one number, and parameters of two parts."""

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


# ---- parameters of a length and a direction

START = np.arange(12, dtype="float32").reshape(3, 4) / 10
# After one step of SGD with a learning rate of 0.01, in 1.8.5.
STEPS = {
    None: [2.04779],
    0: [0.25229, 0.9878, 1.77888],
    1: [0.83003, 0.9474, 1.07368, 1.20606],
}
FIRST_ROWS = {
    None: [-0.048, 0.04896, 0.14593, 0.24289],
    0: [-0.048, 0.07257, 0.19314, 0.31371],
    1: [-0.048, 0.04841, 0.14651, 0.24556],
}


@pytest.mark.parametrize("dim", STEPS)
@pytest.mark.parametrize("attr", [fluid.WeightNormParamAttr, static.WeightNormParamAttr])
def test_length_and_direction_are_learnt_apart(executor, dim, attr):
    x = fluid.data("x", [2, 3])
    init = fluid.initializer.NumpyArrayInitializer(START)
    attr = attr(dim=dim, name="w", initializer=init)
    y = fluid.layers.fc(x, 4, param_attr=attr, bias_attr=False)
    fluid.optimizer.SGD(0.01).minimize(fluid.layers.reduce_sum(y * y))
    parameters = fluid.default_main_program().all_parameters()
    lengths = (1 if dim != 0 else 3, 1 if dim != 1 else 4)
    assert [(p.name, p.shape) for p in parameters] == [("w_g", lengths), ("w_v", (3, 4))]
    executor.run(fluid.default_startup_program())
    (found,) = executor.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[y])
    np.testing.assert_allclose(found[0], START.sum(0), rtol=1e-5)
    np.testing.assert_allclose(value("w_g").ravel(), STEPS[dim], rtol=1e-4)
    np.testing.assert_allclose(value("w_v")[0], FIRST_ROWS[dim], rtol=1e-3, atol=1e-5)


def test_a_name_for_parts_without_one(executor):
    y = static.nn.fc(static.data("x", [2, 3]), 4, weight_attr=static.WeightNormParamAttr(1))
    names = [p.name for p in static.default_main_program().all_parameters()]
    assert names == ["fc_0.w_0_g", "fc_0.w_0_v", "fc_0.b_0"] and y.shape == (2, 4)
    assert static.WeightNormParamAttr(1).dim == 1
    with pytest.raises(ValueError, match="dim of a WeightNormParamAttr must be None or an axis"):
        static.nn.fc(static.data("z", [2, 3]), 4, weight_attr=static.WeightNormParamAttr(2))
