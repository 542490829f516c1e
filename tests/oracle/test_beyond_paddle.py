"""Operators where real Paddle is no oracle: it is random there, or wrong.

Both 1.8.5 and 2.6.2 take the beta powers one step ahead in Adam with row-sparse gradients and give
the padding row of an embedding a gradient if that is row-sparse; 2.6.2 refuses some broadcast
matrix products, counts NaN as a number in logcumsumexp, forgets keepdim of kthvalue, takes the
lower axis of trace for the rows (but not of diagonal) and reads before the inputs of partial_sum
where columns count from the end. Here the formula is the reference.
"""

import numpy as np
import pytest

import op_program
import rules


def float_var(*shape, low=-1.0, high=1.0):
    return {"shape": list(shape), "dtype": "float32", "rule": ["uniform", low, high]}


def one_op(name, type, inputs, outputs, attrs, variables, **rest):
    ops = [{"type": type, "inputs": inputs, "outputs": outputs, "attrs": attrs}]
    return {"name": name, "vars": variables, "ops": ops, "fetch": ["out"], **rest}


@pytest.mark.parametrize("lazy", [False, True])
def test_adam_with_sparse_rows(lazy):
    states = {"moment1": float_var(5, 2), "moment2": float_var(5, 2, low=0.2, high=2)}
    powers = {
        "beta1pow": {"shape": [1], "dtype": "float32", "rule": ["full", 0.9**3]},
        "beta2pow": {"shape": [1], "dtype": "float32", "rule": ["full", 0.999**3]},
    }
    slots = {"Param": ["param"], "Moment1": ["moment1"], "Moment2": ["moment2"],
             "Beta1Pow": ["beta1pow"], "Beta2Pow": ["beta2pow"]}  # fmt: skip
    case = one_op(
        "adam_sparse",
        "lookup_table_v2",
        {"W": ["param"], "Ids": ["ids"]},
        {"Out": ["out"]},
        {"is_sparse": ["bool", True]},
        {
            "param": float_var(5, 2),
            "rate": {"shape": [1], "dtype": "float32", "rule": ["full", 0.1]},
            "ids": {"shape": [3], "dtype": "int64", "rule": ["values", [1, 1, 3]]},
            "out@SEED": float_var(3, 2),
            **states,
            **powers,
        },
        grad=["param"],
        seeds=["out"],
        after=[
            {
                "type": "adam",
                "inputs": {**slots, "Grad": ["param@GRAD"], "LearningRate": ["rate"]},
                "outputs": {slot + "Out": names for slot, names in slots.items()},
                "attrs": {"lazy_mode": ["bool", lazy]},
            }
        ],
    )
    case["fetch"] = ["param", "moment1", "moment2", "beta1pow"]
    found, given = op_program.run(case), op_program.inputs_of(case)
    gradient = np.zeros((5, 2))
    np.add.at(gradient, given["ids"], given["out@SEED"].astype("float64"))
    touched = np.isin(np.arange(5), given["ids"])[:, None] | (not lazy)
    m = np.where(touched, 0.9 * given["moment1"] + 0.1 * gradient, given["moment1"])
    v = np.where(touched, 0.999 * given["moment2"] + 0.001 * gradient**2, given["moment2"])
    rate = 0.1 * np.sqrt(1 - 0.999**3) / (1 - 0.9**3)
    step = rate * m / (np.sqrt(v) + 1e-8 * np.sqrt(1 - 0.999**3))
    expected = np.where(touched, given["param"] - step, given["param"])
    assert rules.relative_error(found["moment1"], m) < 1e-5
    assert rules.relative_error(found["moment2"], v) < 1e-5
    assert rules.relative_error(found["param"], expected) < 1e-5
    assert rules.relative_error(found["beta1pow"], np.array([0.9**4])) < 1e-5


def test_padding_row_gets_no_sparse_gradient():
    variables = {
        "w": float_var(8, 3),
        "ids": {"shape": [4], "dtype": "int64", "rule": ["values", [1, 5, 1, 0]]},
        "out@SEED": float_var(4, 3),
    }
    attrs = {"is_sparse": ["bool", True], "padding_idx": ["long", 1]}
    inputs = {"W": ["w"], "Ids": ["ids"]}
    case = one_op("padding", "lookup_table_v2", inputs, {"Out": ["out"]}, attrs, variables)
    case.update(grad=["w"], seeds=["out"], sparse={"w@GRAD": [8, 3]})
    found, seed = op_program.run(case), op_program.inputs_of(case)["out@SEED"]
    expected = np.zeros((8, 3), "float32")
    expected[5], expected[0] = seed[1], seed[3]
    np.testing.assert_allclose(found["w@GRAD"], expected, rtol=1e-6)
    assert not found["out"][[0, 2]].any()


@pytest.mark.parametrize("x, y", [((2, 1, 3, 4), (3, 4, 2)), ((2, 3, 3, 4), (3, 4, 2))])
def test_gradient_of_a_broadcast_product(x, y):
    variables = {"x": float_var(*x), "y": float_var(*y), "out@SEED": float_var(2, 3, 3, 2)}
    inputs = {"X": ["x"], "Y": ["y"]}
    case = one_op("product", "matmul_v2", inputs, {"Out": ["out"]}, {}, variables)
    found = op_program.run({**case, "grad": ["x", "y"], "seeds": ["out"]})
    given = {name: array.astype("float64") for name, array in op_program.inputs_of(case).items()}
    dx = given["out@SEED"] @ np.swapaxes(given["y"], -1, -2)
    dy = (np.swapaxes(given["x"], -1, -2) @ given["out@SEED"]).sum(0)
    if x[1] == 1:
        dx = dx.sum(1, keepdims=True)
    assert rules.relative_error(found["out"], given["x"] @ given["y"]) < 1e-5
    assert rules.relative_error(found["x@GRAD"], dx) < 1e-5
    assert rules.relative_error(found["y@GRAD"], dy) < 1e-5


def test_no_number_makes_all_sums_after_it_none():
    inputs = {"x": {"shape": [4], "dtype": "float32", "rule": ["values", [0, 0, np.nan, 0]]}}
    case = one_op("nan", "logcumsumexp", {"X": ["x"]}, {"Out": ["out"]}, {}, inputs)
    expected = np.array([0, np.log(2), np.nan, np.nan])
    np.testing.assert_allclose(op_program.run(case)["out"], expected, rtol=1e-6)


def test_kthvalue_keeps_the_axis():
    import paddle
    from paddle import static

    main = static.Program()
    with static.program_guard(main, static.Program()):
        found = paddle.kthvalue(static.data("x", [2, 3]), 2, axis=1, keepdim=True)
    assert [tuple(variable.shape) for variable in found] == [(2, 1), (2, 1)]
    x = np.array([[5, 1, 3], [2, 4, 6]], "float32")
    values, places = static.Executor().run(main, feed={"x": x}, fetch_list=list(found))
    np.testing.assert_array_equal(values, [[3], [4]])
    np.testing.assert_array_equal(places, [[2], [1]])


def test_trace_takes_the_axes_in_their_order():
    attrs = {"offset": ["int", -1], "axis1": ["int", 2], "axis2": ["int", 0]}
    inputs = {"x": float_var(3, 4, 2)}
    case = one_op("trace_turned", "trace", {"Input": ["x"]}, {"Out": ["out"]}, attrs, inputs)
    expected = np.trace(op_program.inputs_of(case)["x"], offset=-1, axis1=2, axis2=0)
    np.testing.assert_allclose(op_program.run(case)["out"], expected, rtol=1e-6)


def test_partial_sum_counts_columns_from_the_end():
    attrs = {"start_index": ["int", -3], "length": ["int", 2]}
    inputs = {"x": float_var(3, 5), "y": float_var(3, 5)}
    case = one_op("last", "partial_sum", {"X": ["x", "y"]}, {"Out": ["out"]}, attrs, inputs)
    given = op_program.inputs_of(case)
    expected = (given["x"] + given["y"])[:, 2:4]
    np.testing.assert_allclose(op_program.run(case)["out"], expected, rtol=1e-6)


# type, attributes, and the mean, deviation, least and largest value that 100,000 draws must show
RANDOM = [
    ("uniform_random", {"min": -0.5, "max": 1.5}, 0.5, 2 / np.sqrt(12), -0.5, 1.5),
    ("gaussian_random", {"mean": 1.0, "std": 0.5}, 1.0, 0.5, -np.inf, np.inf),
    ("truncated_gaussian_random", {"mean": 1.0, "std": 0.5}, 1.0, 0.4398, 0.0, 2.0),
]


@pytest.mark.parametrize("row", RANDOM, ids=[row[0] for row in RANDOM])
def test_random_op(row):
    type, attrs, mean, deviation, least, largest = row
    attrs = {name: ["float", value] for name, value in attrs.items()}
    attrs.update(shape=["longs", [100, 1000]], seed=["int", 7], dtype=["int", 5])
    case = one_op(type, type, {}, {"Out": ["out"]}, attrs, {})
    first, again = op_program.run(case)["out"], op_program.run(case)["out"]
    assert first.shape == (100, 1000) and first.dtype == np.float32
    np.testing.assert_array_equal(first, again)
    assert abs(first.mean() - mean) < 0.01
    assert abs(first.std() - deviation) < 0.01
    assert least <= first.min() and first.max() <= largest
