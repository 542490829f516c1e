"""Layers as objects: what they hold, their names and states, and how they are called."""

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle import nn, static


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5))
        self.top = nn.Linear(8, 2, bias_attr=False)
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(3.0))

    def forward(self, x):
        return self.top(self.body(x)) * self.scale


def feed(rows=5):
    return {"x": np.linspace(-1, 1, 4 * rows, dtype="float32").reshape(rows, 4)}


def test_what_is_inside():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        *("scale", "body.0.weight", "body.0.bias", "top.weight"),
    ]
    assert [p.name for p in net.parameters()] == [
        *("net_0.w_0", "linear_0.w_0", "linear_0.b_0", "linear_1.w_0"),
    ]
    assert [name for name, _ in net.named_sublayers()] == [
        *("body", "body.0", "body.1", "body.2", "top"),
    ]
    assert [type(layer).__name__ for layer in net.children()] == ["Sequential", "Linear"]
    assert len(net.sublayers(include_self=True)) == 6
    assert net.top.bias is None
    assert net.full_name() == "net_0" and Net().full_name() == "net_1"


@pytest.mark.parametrize(
    "layer, name",
    [
        (lambda: nn.BatchNorm2D(3), "batch_norm2d_0"),
        (lambda: nn.PReLU(), "p_re_lu_0"),
        (lambda: nn.Conv2D(1, 1, 1), "conv2d_0"),
        (lambda: nn.GELU(), "gelu_0"),
        (lambda: nn.AdaptiveAvgPool2D(1), "adaptive_avg_pool2d_0"),
        (lambda: nn.CrossEntropyLoss(), "cross_entropy_loss_0"),
    ],
)
def test_names_are_paddles(layer, name):
    assert layer().full_name() == name


def test_parameters_of_a_layer_that_is_called_twice_are_shared(executor):
    x = static.data("x", [None, 4])
    layer = nn.Linear(4, 4)
    both = layer(layer(x))
    assert len(static.default_main_program().all_parameters()) == 2
    executor.run(static.default_startup_program())
    assert executor.run(feed=feed(), fetch_list=[both])[0].shape == (5, 4)


def test_a_table_can_be_shared_by_name():
    attr = paddle.ParamAttr(name="table", initializer=nn.initializer.Uniform())
    layers = [nn.Embedding(10, 3, sparse=True, weight_attr=attr) for _ in range(26)]
    assert {layer.weight.name for layer in layers} == {"table"}
    assert len(static.default_main_program().all_parameters()) == 1
    assert len(static.default_startup_program().global_block().ops) == 1


def test_states_travel(executor, tmp_path):
    x, net = static.data("x", [None, 4]), Net()
    net.eval()
    out = net(x)
    executor.run(static.default_startup_program())
    before = executor.run(feed=feed(), fetch_list=[out])[0]
    state = net.state_dict()
    assert list(state) == ["scale", "body.0.weight", "body.0.bias", "top.weight"]
    paddle.save(state, str(tmp_path / "net.pdparams"))
    for tensor in state.values():
        tensor.set(np.zeros(tensor.shape(), "float32"), paddle.CPUPlace())
    assert (executor.run(feed=feed(), fetch_list=[out])[0] == 0).all()
    missing, unexpected = net.set_state_dict(paddle.load(str(tmp_path / "net.pdparams")))
    assert (missing, unexpected) == ([], [])
    np.testing.assert_array_equal(executor.run(feed=feed(), fetch_list=[out])[0], before)


def test_states_that_do_not_fit(executor):
    net = Net()
    net(static.data("x", [None, 4]))
    executor.run(static.default_startup_program())
    state = {"top.weight": np.ones((8, 2), "float32"), "other": np.ones(1, "float32")}
    missing, unexpected = net.set_state_dict(state)
    assert missing == ["scale", "body.0.weight", "body.0.bias"] and unexpected == ["other"]
    by_name = {"linear_1.w_0": np.full((8, 2), 2, "float32")}
    net.set_state_dict(by_name, use_structured_name=False)
    assert (np.array(net.top.weight.get_value()) == 2).all()
    with pytest.raises(ValueError, match="has shape"):
        net.set_state_dict({"top.weight": np.ones((2, 8), "float32")})


def test_buffers_may_be_no_part_of_the_state():
    net = nn.Sequential(nn.Layer(), nn.Layer())
    for layer, persistable in zip(net, (True, False)):
        layer.register_buffer("count", layer.create_variable("count"), persistable)
    assert [path for path, _ in net.named_buffers()] == ["0.count", "1.count"]
    assert net.set_state_dict({}) == (["0.count"], [])


def types():
    return [op.type for op in static.default_main_program().global_block().ops]


def test_training_and_evaluation_append_different_ops():
    x, net = static.data("x", [None, 4]), Net()
    net.train()(x)
    dropout = static.default_main_program().global_block().ops[types().index("dropout")]
    assert dropout.attr("is_test") is False
    net.eval()
    assert not net.body[2].training
    count = len(types())
    net(x)
    ops = static.default_main_program().global_block().ops[count:]
    assert [op.attr("is_test") for op in ops if op.type == "dropout"] == [True]


def test_batch_norm_keeps_running_statistics(executor):
    x = static.data("x", [None, 3, 4, 4])
    norm = nn.BatchNorm2D(3, momentum=0.8)
    out = norm(x)
    test = static.default_main_program().clone(for_test=True)
    executor.run(static.default_startup_program())
    batch = np.random.RandomState(0).randn(8, 3, 4, 4).astype("float32") * 2 + 1
    found = executor.run(feed={"x": batch}, fetch_list=[out])[0]
    np.testing.assert_allclose(found.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std((0, 2, 3)), 1, atol=1e-3)
    mean, variance = (np.array(v.get_value()) for v in (norm._mean, norm._variance))
    np.testing.assert_allclose(mean, 0.2 * batch.mean((0, 2, 3)), rtol=1e-4)
    np.testing.assert_allclose(variance, 0.8 + 0.2 * batch.var((0, 2, 3)), rtol=1e-4)
    found = executor.run(test, feed={"x": batch}, fetch_list=[out])[0]
    shaped = [one.reshape(1, 3, 1, 1) for one in (mean, variance)]
    expected = (batch - shaped[0]) / np.sqrt(shaped[1] + 1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert list(norm.state_dict()) == ["weight", "bias", "_mean", "_variance"]


def test_a_layer_without_a_learnt_scale():
    norm = nn.BatchNorm2D(3, weight_attr=False, bias_attr=False)
    assert norm.weight.name == "batch_norm2d_0.w_0"
    assert norm.weight.stop_gradient and not norm.weight.trainable
    loss = paddle.mean(norm(nn.Conv2D(1, 3, 1)(static.data("x", [None, 1, 2, 2]))))
    trained = [p.name for p, _ in static.append_backward(loss)]
    assert trained == ["conv2d_0.w_0", "conv2d_0.b_0"]


def test_containers():
    layers = nn.LayerList([nn.Linear(4, 4) for _ in range(3)])
    layers.append(nn.ReLU())
    layers.insert(0, nn.Flatten())
    assert [type(layer).__name__ for layer in layers] == ["Flatten", *["Linear"] * 3, "ReLU"]
    assert type(layers[-1]).__name__ == "ReLU" and len(layers[1:3]) == 2
    del layers[0]
    assert list(dict(layers.named_children())) == ["0", "1", "2", "3"]
    with pytest.raises(IndexError):
        layers[7]
    named = nn.Sequential(("first", nn.Linear(4, 4)), ("second", nn.ReLU()))
    assert named["first"] is named[0] and len(named) == 2
    parameters = nn.ParameterList([layers[0].weight, layers[1].weight])
    assert [p.name for p in parameters] == [p.name for p in parameters.parameters()]
    words = nn.LayerDict({"a": nn.ReLU()})
    words["b"] = nn.Tanh()
    assert list(words.keys()) == ["a", "b"] and "b" in words


def test_layers_are_added_by_name():
    net = nn.Layer()
    added = net.add_sublayer("linear_0", nn.Linear(2, 2))
    net.add_parameter("bias", added.bias)
    assert net.linear_0 is added and net.bias is added.bias
    assert [name for name, _ in net.named_parameters()] == ["bias", "linear_0.weight"]
    with pytest.raises(TypeError, match="a layer is expected"):
        net.add_sublayer("x", 3)
    with pytest.raises(ValueError, match="without dots"):
        net.add_sublayer("a.b", nn.ReLU())
    net.linear_0 = None
    assert list(net.children()) == []
    with pytest.raises(AttributeError, match="nothing"):
        print(net.nothing)


def test_init_must_call_the_base():
    class Wrong(nn.Layer):
        def __init__(self):
            self.layer = nn.ReLU()

    with pytest.raises(RuntimeError, match=r"super\(\).__init__\(\)"):
        Wrong()


def test_forward_is_needed():
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Layer()(1)


def test_hooks():
    seen, layer = [], nn.Identity()
    before = layer.register_forward_pre_hook(lambda self, inputs: (inputs[0] + 1,))
    layer.register_forward_post_hook(lambda self, inputs, output: seen.append(output) or output * 2)
    assert layer(1) == 4 and seen == [2]
    before.remove()
    assert layer(1) == 2


def test_apply_reaches_every_layer():
    seen = []
    Net().apply(lambda layer: seen.append(type(layer).__name__))
    assert seen == ["Linear", "ReLU", "Dropout", "Sequential", "Linear", "Net"]


def test_text_of_a_layer():
    text = repr(nn.Sequential(nn.Linear(4, 8), nn.ReLU()))
    assert text == (
        "Sequential(\n  (0): Linear(in_features=4, out_features=8, dtype=float32)\n  (1): ReLU()\n)"
    )


def test_initializers_of_layers():
    nn.Linear(8, 5), nn.Embedding(10, 4), nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4)
    ops = static.default_startup_program().global_block().ops
    starts = {op.output("Out")[0]: op for op in ops}
    assert abs(starts["linear_0.w_0"].attr("max") - 0.6793662) < 1e-6
    assert abs(starts["embedding_0.w_0"].attr("max") - 0.6546537) < 1e-6
    assert abs(starts["conv2d_0.w_0"].attr("std") - (2 / 27) ** 0.5) < 1e-6
    values = {name: op.attr("value") for name, op in starts.items() if op.type == "fill_constant"}
    assert values == {
        "linear_0.b_0": 0.0,
        "conv2d_0.b_0": 0.0,
        "batch_norm2d_0.w_0": 1.0,
        "batch_norm2d_0.b_0": 0.0,
        "batch_norm2d_0.w_1": 0.0,
        "batch_norm2d_0.w_2": 1.0,
    }


def test_dropout_drops(executor):
    x = static.data("x", [1000, 4])
    made = [
        F.dropout(x, 0.25),
        F.dropout(x, 0.25, mode="downscale_in_infer"),
        F.dropout(x, 0.25, axis=0),
        paddle.fluid.layers.dropout(x, 0.25),
    ]
    up, down, rows, fluid = executor.run(feed={"x": np.ones((1000, 4), "float32")}, fetch_list=made)
    assert set(np.unique(up)) == {0, np.float32(1 / 0.75)} and set(np.unique(down)) == {0, 1}
    assert abs((up == 0).mean() - 0.25) < 0.03 and set(np.unique(fluid)) == {0, 1}
    assert (rows == rows[:, :1]).all() and abs((rows == 0).mean() - 0.25) < 0.06


def test_losses_of_rows_that_are_ignored(executor):
    x = static.data("x", [3, 4])
    label = static.data("label", [3, 1], "int64")
    logits = np.random.RandomState(1).randn(3, 4).astype("float32")
    labels = np.array([[1], [-100], [3]])
    rows = -np.log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))[[0, 2], [1, 3]]
    made = [
        F.cross_entropy(x, label),
        F.cross_entropy(x, label, reduction="sum"),
        F.cross_entropy(x, label, reduction="none"),
    ]
    mean, total, each = executor.run(feed={"x": logits, "label": labels}, fetch_list=made)
    np.testing.assert_allclose(mean.item(), rows.sum() / 3, rtol=1e-5)  # as Paddle: over all rows
    np.testing.assert_allclose(total.item(), rows.sum(), rtol=1e-5)
    np.testing.assert_allclose(each[:, 0], [rows[0], 0, rows[1]], rtol=1e-5)
