"""Tools around the fleet: FleetUtil, LayerHelper, sums for metrics of clicks, mixed precision."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import fleet
from paddle.fluid.incubate.fleet.utils.fleet_util import FleetUtil
from paddle.fluid.layer_helper import LayerHelper


def own_fc(input, size, act=None, param_attr=None, bias_attr=None, name=None):
    """A layer as users write their own."""
    helper = LayerHelper("own_fc", **locals())
    dtype = helper.input_dtype()
    w = helper.create_parameter(helper.param_attr, [input.shape[1], size], dtype)
    out = helper.create_variable_for_type_inference(dtype)
    helper.append_op(type="mul", inputs={"X": input, "Y": w}, outputs={"Out": out})
    return helper.append_activation(helper.append_bias_op(out))


def test_a_layer_of_ones_own(executor):
    constant = fluid.ParamAttr(name="mine", initializer=fluid.initializer.Constant(0.5))
    x = fluid.data("x", [None, 3])
    plain = own_fc(x, 2, act="relu", param_attr=constant)
    bare = own_fc(x, 2, param_attr=constant, bias_attr=False, name="bare")
    assert [one.name for one in fluid.default_main_program().all_parameters()] == [
        "mine",
        "own_fc_0.b_0",
    ]
    executor.run(fluid.default_startup_program())
    feed = {"x": np.array([[1, 2, 3], [-1, -2, -3]], "float32")}
    got = executor.run(feed=feed, fetch_list=[plain, bare])
    np.testing.assert_array_equal(got[0], [[3, 3], [0, 0]])
    np.testing.assert_array_equal(got[1], [[3, 3], [-3, -3]])


def test_inputs_of_a_layer_and_their_parameters():
    x, y = fluid.data("x", [2, 3]), fluid.data("y", [2, 4])
    helper = LayerHelper("two", input=[x, y], param_attr="w", act="relu")
    found = [(one, attr.name) for one, attr in helper.iter_inputs_and_params()]
    assert found[0][0] is x and found[1][0] is y and [name for _, name in found] == ["w", "w"]
    several = LayerHelper("two", input=[x, y], param_attr=["u", "v"])
    assert [attr.name for _, attr in several.iter_inputs_and_params()] == ["u", "v"]
    with pytest.raises(ValueError, match="two has 3 inputs, but 2 param_attr"):
        several.multiple_param_attr(3)
    helper.is_instance("act", str)
    with pytest.raises(TypeError, match="act of two must be a int, but is a str"):
        helper.is_instance("act", int)
    assert helper.create_tmp_variable("float32").name == "two_0.tmp_0"


def test_a_helpers_variables(executor):
    helper = LayerHelper("counter", input=[fluid.data("a", [1]), fluid.data("b", [1], "int64")])
    with pytest.raises(ValueError, match="takes one input, but got 2"):
        helper.input()
    with pytest.raises(ValueError, match="the inputs of counter hold float32, int64"):
        helper.input_dtype()
    count, new = helper.create_or_get_global_variable(
        "count", persistable=True, dtype="float32", shape=[2]
    )
    assert new and not helper.create_or_get_global_variable("count")[1]
    helper.set_variable_initializer(count, fluid.initializer.Constant(7.0))
    executor.run(fluid.default_startup_program())
    np.testing.assert_array_equal(executor.run(fetch_list=[count])[0], [7, 7])


def test_sums_for_metrics_of_clicks(executor, monkeypatch):
    """Over three batches, as numpy has them."""
    chances, label = fluid.data("p", [None, 1]), fluid.data("y", [None, 1], "int64")
    sums = paddle.static.ctr_metric_bundle(chances, label)
    two = paddle.concat([1 - chances, chances], axis=1)
    _, _, states = paddle.static.auc(two, label)
    executor.run(fluid.default_startup_program())
    random = np.random.RandomState(1)
    p = random.rand(60, 1).astype("float32")
    y = (random.rand(60, 1) < p).astype("int64")
    for i in range(0, 60, 20):
        executor.run(feed={"p": p[i : i + 20], "y": y[i : i + 20]})
    expected = [((p - y) ** 2).sum(), abs(p - y).sum(), p.sum(), (1 / (1 + np.exp(-p))).sum()]
    got = [np.array(fluid.global_scope().find_var(one.name).get_tensor())[0] for one in sums]
    np.testing.assert_allclose(got, [*expected, y.sum(), 60], rtol=1e-5)

    for name, value in {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINERS_NUM": "1"}.items():
        monkeypatch.setenv(name, value)
    fleet.init(fluid.incubate.fleet.base.role_maker.UserDefinedRoleMaker(0, 1, 1, []))
    util = FleetUtil("transpiler")
    scope = fluid.global_scope()
    names = [states[2].name, states[3].name, *(one.name for one in sums)]
    auc, error, mae, rmse, actual, predicted, quotient, q, total = util.get_global_metrics(
        scope, *names
    )
    assert 0.6 < auc < 1 and 0 <= error < 1 and total == 60
    np.testing.assert_allclose(
        [mae, rmse, actual, predicted, quotient, q],
        [
            *(abs(p - y).mean(), np.sqrt(((p - y) ** 2).mean()), y.mean(), p.mean()),
            *(y.mean() / p.mean(), (1 / (1 + np.exp(-p))).mean()),
        ],
        rtol=1e-5,
    )
    util.set_zero(states[2].name, scope)
    assert not np.array(scope.find_var(states[2].name).get_tensor()).any()
    assert util.get_global_auc(scope, "nothing", "at_all") is None


def test_passes_of_a_day():
    util = FleetUtil("transpiler")
    assert util.get_online_pass_interval("20200101", "0 1", 30, 1, False) == [
        *(["0000"], ["0030"], ["0100"], ["0130"])
    ]
    hourly = util.get_online_pass_interval("20200101", "{22..23}", 20, 3, True)
    assert hourly == [["22"] * 3, ["23"] * 3]
    with pytest.raises(ValueError, match='mode must be "pslib" or "transpiler"'):
        FleetUtil("mpi")


def test_mixed_precision_trains_in_single_precision(executor):
    x = fluid.data("x", [None, 4])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    with pytest.warns(UserWarning, match="no effect yet"):
        optimizer = fluid.contrib.mixed_precision.decorate(
            fluid.optimizer.SGD(0.1), init_loss_scaling=128.0
        )
    optimizer.minimize(loss)
    assert optimizer.get_scaled_loss() is loss
    executor.run(fluid.default_startup_program())
    feed = {"x": np.ones([2, 4], "float32")}
    before, scale = executor.run(feed=feed, fetch_list=[loss, optimizer.get_loss_scaling()])
    assert scale[0] == 1 and executor.run(feed=feed, fetch_list=[loss])[0] < before
    with pytest.raises(ValueError, match="mul cannot be on both lists"):
        paddle.static.amp.CustomOpLists({"mul"}, {"mul"})


def test_the_variable_of_a_learning_rate(executor):
    optimizer = fluid.optimizer.SGD(0.25)
    assert optimizer._global_learning_rate() is None
    optimizer.minimize(fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 1]), 1)))
    executor.run(fluid.default_startup_program())
    assert fluid.executor._fetch_var(optimizer._global_learning_rate().name)[0] == 0.25


def test_counts_of_shown_and_clicked(executor):
    """With 1.8.5's values; its gradient of counts is what servers of its own need."""
    rows = fluid.data("rows", [None, 5])
    rows.stop_gradient = False
    counts = fluid.data("counts", [None, 2])
    with_counts = fluid.layers.continuous_value_model(rows, counts, True)
    without = fluid.layers.continuous_value_model(rows, counts, False)
    total = fluid.layers.reduce_sum(with_counts) + fluid.layers.reduce_sum(without)
    gradient = fluid.gradients([total], [rows])[0]
    feed = {
        "rows": np.array([[3, 1, 0.5, 0.6, 0.7], [0, 0, 1, 2, 3]], "float32"),
        "counts": np.ones([2, 2], "float32"),
    }
    first, second, third = executor.run(feed=feed, fetch_list=[with_counts, without, gradient])
    np.testing.assert_allclose(first[0, :2], [1.3862944, -0.6931472], rtol=1e-6)
    np.testing.assert_array_equal(first[:, 2:], feed["rows"][:, 2:])
    np.testing.assert_array_equal(second, feed["rows"][:, 2:])
    np.testing.assert_array_equal(third, [[0, 0, 2, 2, 2]] * 2)


def test_words_of_older_programs(executor, capsys):
    fluid.data("x", [None, 2])
    fluid.data("y", [None, 1], "int64")
    feeder = fluid.DataFeeder(["x", "y"], fluid.CPUPlace())

    def batches():
        yield [([1.0, 2.0], [3])] * 2

    (feed,) = feeder.decorate_reader(batches, multi_devices=False)()
    np.testing.assert_array_equal(feed["x"], [[1, 2], [1, 2]])
    assert sorted(next(feeder.decorate_reader(batches, multi_devices=True)())[0]) == ["x", "y"]
    loader = fluid.io.DataLoader.from_generator(feed_list=["x", "y"], capacity=2)
    loader.set_sample_list_generator(batches, places=fluid.CPUPlace())
    assert [sorted(one[0]) for one in loader()] == [["x", "y"]]

    fluid.transpiler.details.program_to_code(fluid.default_main_program())
    assert "x" in capsys.readouterr().out
    accuracy = fluid.metrics.Accuracy()
    accuracy.update(value=np.array([0.5], "float32"), weight=4)
    assert "%.2f" % accuracy.eval() == "0.50" and not paddle.is_compiled_with_npu()  # noqa: UP031
    assert not paddle.is_compiled_with_custom_device("npu")
    ids = fluid.data("ids", [None, 1], "int64", lod_level=1)
    sums = fluid.contrib.layers.fused_embedding_seq_pool(
        ids, [9, 2], param_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(0.5))
    )
    executor.run(fluid.default_startup_program())
    lod = fluid.create_lod_tensor(np.array([[1], [2], [3]]), [[1, 2]], fluid.CPUPlace())
    feed = {"ids": lod, "x": np.ones([1, 2], "float32"), "y": np.ones([1, 1], "int64")}
    np.testing.assert_array_equal(
        executor.run(feed=feed, fetch_list=[sums])[0], [[0.5, 0.5], [1, 1]]
    )


def test_convolutions_and_softmax_of_sequences(executor):
    """With 1.8.5's values."""
    random = np.random.RandomState(0)
    weight, bias = random.rand(9, 4).astype("float32"), random.rand(4).astype("float32")

    def attr(value):
        return fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(value))

    x = fluid.layers.data("x", [3], lod_level=1)
    x.stop_gradient = False
    words = dict(act="tanh", param_attr=attr(weight), bias_attr=attr(bias))
    conv = fluid.layers.sequence_conv(x, 4, 3, **words)
    pooled = fluid.nets.sequence_conv_pool(x, 4, 3, pool_type="max", **words)
    scores = fluid.layers.fc(x, 1, param_attr=attr(weight[:3, :1]), bias_attr=False)
    soft = fluid.layers.sequence_softmax(scores)
    parts = [conv, pooled, fluid.layers.square(soft)]
    loss = fluid.layers.sums([fluid.layers.reduce_sum(one) for one in parts])
    gradient = fluid.gradients([loss], [x])[0]
    assert [one.name for one in fluid.default_main_program().all_parameters()] == [
        *("sequence_conv_0.w_0", "sequence_conv_0.b_0"),
        *("sequence_conv_1.w_0", "sequence_conv_1.b_0", "fc_0.w_0"),
    ]
    executor.run(fluid.default_startup_program())
    lod = fluid.create_lod_tensor(random.rand(5, 3).astype("float32"), [[2, 3]], fluid.CPUPlace())
    fetches = [conv, pooled, soft, gradient]
    got = executor.run(feed={"x": lod}, fetch_list=fetches, return_numpy=False)
    assert got[0].recursive_sequence_lengths() == [[2, 3]]
    np.testing.assert_allclose(np.array(got[0])[0], [0.9742, 0.98829, 0.94972, 0.98956], atol=2e-5)
    np.testing.assert_allclose(np.array(got[1])[0], [0.9827, 0.98837, 0.99164, 0.99178], atol=2e-5)
    np.testing.assert_allclose(
        np.array(got[2]).ravel(), [0.52322, 0.47678, 0.26014, 0.38414, 0.35571], atol=2e-5
    )
    np.testing.assert_allclose(
        np.array(got[3])[[0, 4]],
        [[0.1806, 0.22728, 0.27973], [0.13979, 0.22934, 0.26296]],
        atol=2e-5,
    )


def test_dense_parameters_by_themselves(executor, tmp_path):
    from paddle.distributed import fleet as new

    new.init(is_collective=True)
    fluid.layers.fc(fluid.layers.fc(fluid.data("x", [None, 2]), 3), 1)
    executor.run(fluid.default_startup_program())
    program = fluid.default_main_program()
    new.save_dense_params(executor, str(tmp_path / "all"), fluid.global_scope(), program)
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        *("__manifest__", "fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0")
    ]
    new.save_dense_params(executor, str(tmp_path / "one"), None, program, ["fc_1.w_0"])
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        *("__manifest__", "fc_1.w_0")
    ]
