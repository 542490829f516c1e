"""Operators where real Paddle is no oracle: it is random there, or wrong.

docs/differences.md lists what it gives instead. Here the formula is the reference.
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


def run(build, feed):
    """What the variables that `build` returns hold."""
    from paddle import static
    from paddle.utils import unique_name

    main, startup = static.Program(), static.Program()
    with (
        static.program_guard(main, startup),
        unique_name.guard(),
        static.scope_guard(static.Scope()),
    ):
        found, executor = build(), static.Executor()
        executor.run(startup)
        return executor.run(main, feed=feed, fetch_list=list(found))


def lstm_sums(x, width):
    """The sums of all hidden states and of all cells; weights and biases are 0.1."""
    h = c = np.zeros(width)
    sums = np.zeros(2)
    for row in x:
        made, taken, kept, shown = (row + 0.1 * h.sum() + 0.1).reshape(4, width)
        c = np.tanh(made) / (1 + np.exp(-taken)) + c / (1 + np.exp(-kept))
        h = np.tanh(c) / (1 + np.exp(-shown))
        sums += h.sum(), c.sum()
    return sums


@pytest.mark.parametrize("width", [3, 8, 16])
@pytest.mark.parametrize("of", [0, 1], ids=["hidden", "cell"])
def test_lstms_of_any_width_have_gradients(width, of):
    import paddle.fluid as fluid

    def build():
        x = fluid.data("x", [None, 4 * width], lod_level=1)
        x.stop_gradient = False
        same = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.1))
        both = fluid.layers.dynamic_lstm(
            x, 4 * width, use_peepholes=False, param_attr=same, bias_attr=same
        )
        return fluid.gradients(fluid.layers.reduce_sum(both[of]), x)

    x = np.full((2, 4 * width), 0.5)
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    slopes = [(lstm_sums(x + d, width) - lstm_sums(x - d, width))[of] / 2e-6 for d in steps]
    lod = fluid.create_lod_tensor(x.astype("float32"), [[2]], fluid.CPUPlace())
    (found,) = run(build, {"x": lod})
    assert rules.relative_error(np.array(found), np.reshape(slopes, x.shape)) < 1e-5


def test_gradient_of_weighted_logistic_loss():
    import paddle
    from paddle import static

    def build():
        x, label = static.data("x", [3]), static.data("label", [3])
        x.stop_gradient = False
        loss = paddle.nn.functional.binary_cross_entropy_with_logits(
            x, label, reduction="none", pos_weight=paddle.full([3], 2.0)
        )
        return [loss, *static.gradients(paddle.sum(loss), x)]

    label = np.array([0, 0.5, 1])
    found = run(build, {"x": np.ones(3, "float32"), "label": label.astype("float32")})
    below = 1 / (1 + np.exp(1.0))
    expected = -2 * label * np.log(1 - below) - (1 - label) * np.log(below)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    np.testing.assert_allclose(found[1], (1 - label) * (1 - below) - 2 * label * below, rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("writer, scale", [("2.x", np.sqrt(1 - 0.999)), ("1.8", 1)])
def test_epsilon_of_adam_is_that_of_the_release_that_wrote_the_program(writer, scale, sparse):
    """A step of 0.1 along a gradient of 3: 0.90033 in 2.6.2, 0.90954 in 1.8.5."""
    import paddle
    import paddle.fluid as fluid
    from paddle import static

    def build():
        one = paddle.nn.initializer.Constant(1.0)
        w = static.create_parameter([2, 1], "float32", default_initializer=one)
        row = paddle.nn.functional.embedding(paddle.full([1], 1, "int64"), w, sparse=sparse)
        loss = paddle.sum(row * 3.0)
        fluid.optimizer.Adam(0.1, epsilon=1e-2).minimize(loss)
        update = static.default_main_program().global_block().ops[-1]
        if writer == "1.8":  # what reading such a program sets
            update._set_attr("plain_epsilon", True)
        return [w]

    m, root = 0.1 * 3, np.sqrt(0.001 * 9)
    expected = 1 - 0.1 * np.sqrt(1 - 0.999) / (1 - 0.9) * m / (root + 1e-2 * scale)
    np.testing.assert_allclose(run(build, {})[0], [[1], [expected]], rtol=1e-6)


@pytest.mark.parametrize("type", ["static", "fluid"])
def test_batch_norm_takes_its_momentum_from_a_variable(type):
    import paddle
    from paddle import fluid, static

    def build():
        x = static.data("x", [4, 3, 2, 2])
        words = static.nn if type == "static" else fluid.layers
        half = paddle.full([1], 0.5)
        words.batch_norm(x, momentum=half, moving_mean_name="m", moving_variance_name="v")
        return ["m", "v"]

    x = np.arange(48, dtype="float32").reshape(4, 3, 2, 2)
    mean, variance = run(build, {"x": x})
    np.testing.assert_allclose(mean, 0.5 * x.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(variance, 0.5 + 0.5 * x.var((0, 2, 3)), rtol=1e-6)


def test_instances_of_several_axes_are_kept_whole():
    import paddle.fluid as fluid

    def lod(array):
        return fluid.create_lod_tensor(array, [[1, 1, 1]], fluid.CPUPlace())

    def build():
        x = fluid.data("x", [3, 2, 2])
        tags = fluid.data("tags", [-1, 1], "int64", lod_level=1)
        return fluid.layers.filter_by_instag(x, tags, fluid.data("wanted", [-1], "int64"), False)

    x = np.arange(1, 13, dtype="float32").reshape(3, 2, 2)
    feed = {"x": x, "tags": lod(np.array([[1], [2], [1]])), "wanted": np.array([1])}
    np.testing.assert_array_equal(np.array(run(build, feed)[0]), x[[0, 2]])


def test_the_smallest_value_is_found_in_front():
    import paddle
    from paddle import static

    def build():
        return [paddle.searchsorted(static.data("x", [4]), static.data("values", [3]))]

    values = np.array([-np.inf, 2.5, np.inf], "float32")
    feed = {"x": np.array([1, 2, 3, 4], "float32"), "values": values}
    np.testing.assert_array_equal(run(build, feed)[0], [0, 2, 4])


def test_what_has_seen_no_gradient_stays():
    one = {"shape": [2], "dtype": "float32", "rule": ["values", [1, 1]]}
    variables = {
        "param": one,
        "grad": {"shape": [2], "dtype": "float32", "rule": ["values", [0, 1]]},
        "moment": {"shape": [2], "dtype": "float32", "rule": ["full", 0]},
        "rate": {"shape": [1], "dtype": "float32", "rule": ["full", 0.1]},
    }
    slots = {"Param": ["param"], "Moment": ["moment"]}
    case = one_op(
        "proximal_adagrad",
        "proximal_adagrad",
        {**slots, "Grad": ["grad"], "LearningRate": ["rate"]},
        {slot + "Out": names for slot, names in slots.items()},
        {"l1": ["float", 0.0], "l2": ["float", 0.0]},
        variables,
    )
    found = op_program.run({**case, "fetch": ["param"]})["param"]
    np.testing.assert_allclose(found, [1, 0.9], rtol=1e-6)


def test_gradients_of_shuffled_channels_go_back():
    variables = {
        "x": float_var(1, 6, 1, 1),
        "out@SEED": {"shape": [1, 6, 1, 1], "dtype": "float32", "rule": ["values", [*range(1, 7)]]},
    }
    case = one_op(
        "shuffle",
        "shuffle_channel",
        {"X": ["x"]},
        {"Out": ["out"]},
        {"group": ["int", 2]},
        variables,
    )
    found = op_program.run({**case, "grad": ["x"], "seeds": ["out"]})["x@GRAD"]
    np.testing.assert_array_equal(found.ravel(), [1, 3, 5, 2, 4, 6])


def test_a_feed_may_lack_axes_of_one_element_alone():
    from paddle import static

    for declared, fed in (([-1, 1], 3), ([-1, 1, 1], 3)):
        x = np.arange(fed, dtype="float32")
        found = run(lambda: [static.data("x", declared) * 2], {"x": x})[0]  # noqa: B023
        np.testing.assert_array_equal(found, 2 * x)
    said = r"variable \"x\" is declared with shape \[-1, 784\], but was fed shape \[784\]"
    with pytest.raises(ValueError, match=said):
        run(lambda: [static.data("x", [-1, 784]) * 2], {"x": np.zeros(784, "float32")})
    with pytest.raises(ValueError, match="matmul|rank|axes|axis|shape"):
        run(lambda: [static.nn.fc(static.data("x", [-1, 1]), 2)], {"x": np.zeros(3, "float32")})


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


def test_rows_that_are_replaced_have_no_gradient():
    import paddle
    from paddle import static

    def build():
        x, i, u = (static.data(*one) for one in (("x", [3, 1]), ("i", [2], "int64"), ("u", [2, 1])))
        x.stop_gradient = u.stop_gradient = False
        out = paddle.scatter(x, i, u, overwrite=False)
        return [out, *static.gradients([paddle.sum(out * out)], [x, u])]

    feed = {"x": np.array([[1], [2], [3]], "float32"), "i": np.array([1, 1])}
    feed["u"] = np.array([[5], [6]], "float32")
    out, of_x, of_u = (value.ravel().tolist() for value in run(build, feed))
    assert (out, of_x, of_u) == ([1, 11, 3], [2, 0, 6], [22, 22])


def test_a_number_beside_an_array_that_lies_apart_is_an_array():
    from paddle import static

    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    (found,) = run(lambda: [static.data("m", [2, 3, 4])[0, :, [0, 3]]], {"m": values})
    assert found.tolist() == values[0, :, [0, 3]].tolist() == [[0, 4, 8], [3, 7, 11]]


def test_the_largest_of_adaptive_windows():
    image = {"shape": [1, 1, 2, 2], "dtype": "float32", "rule": ["values", [1, 2, 3, 4]]}
    attrs = {
        "pooling_type": ["string", "max"],
        "ksize": ["ints", [1, 1]],
        "adaptive": ["bool", True],
    }
    case = one_op("adaptive", "pool2d", {"X": ["x"]}, {"Out": ["out"]}, attrs, {"x": image})
    assert op_program.run(case)["out"].tolist() == [[[[4]]]]
