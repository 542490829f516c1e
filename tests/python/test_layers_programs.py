"""Programs as users of both eras write them: names, metrics kept in variables, training loops."""

import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.nn.functional as F
import pytest
from paddle import nn, static
from paddle.utils import unique_name

CLICKS = {
    "dense": np.random.RandomState(0).rand(16, 13).astype("float32"),
    "label": np.random.RandomState(1).randint(0, 2, (16, 1)),
    **{f"C{i}": np.random.RandomState(i).randint(0, 50, (16, 1)) for i in range(1, 4)},
}


class WideDeep(nn.Layer):
    def __init__(self):
        super().__init__()
        table = paddle.ParamAttr(name="SparseFeatFactors", initializer=nn.initializer.Uniform())
        self.embedding = nn.Embedding(50, 4, sparse=True, weight_attr=table)
        spread = nn.initializer.TruncatedNormal(mean=0.0, std=0.3)
        self.wide = nn.Linear(13, 1, weight_attr=paddle.ParamAttr(initializer=spread))
        self.deep = []
        for i, (before, after) in enumerate([(25, 8), (8, 8), (8, 1)]):
            attr = paddle.ParamAttr(initializer=nn.initializer.Normal(std=0.3))
            self.deep.append(self.add_sublayer(f"linear_{i}", nn.Linear(before, after, attr)))
            if i < 2:
                self.deep.append(self.add_sublayer(f"relu_{i}", nn.ReLU()))

    def forward(self, ids, dense):
        rows = [paddle.reshape(self.embedding(one), shape=[-1, 4]) for one in ids]
        hidden = paddle.concat(x=rows + [dense], axis=1)
        for layer in self.deep:
            hidden = layer(hidden)
        return F.sigmoid(paddle.add(x=self.wide(dense), y=hidden))


def count(name, batch):
    """A sum over all batches, kept in a variable of that name."""
    total = static.create_global_var(
        name=name, persistable=True, dtype="float32", shape=[1], value=0
    )
    paddle.assign(total + batch, total)
    return total


def rows_of(x):
    return paddle.sum(paddle.full(shape=[paddle.shape(x)[0], 1], fill_value=1.0))


def build():
    dense = static.data(name="dense", shape=[None, 13], dtype="float32")
    ids = [static.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(1, 4)]
    label = static.data(name="label", shape=[None, 1], dtype="int64")
    chance = WideDeep().forward(ids, dense)
    truth = paddle.cast(label, dtype="float32")
    loss = paddle.mean(x=F.log_loss(input=chance, label=truth))
    with unique_name.guard():
        away = count("abserr", F.l1_loss(chance, truth, reduction="sum"))
        mae = away / count("total_cnt", rows_of(label))
    with unique_name.guard():
        square = count("sqrerr", F.mse_loss(chance, truth, reduction="sum"))
        rmse = paddle.sqrt(square / count("total_cnt", rows_of(label)))
    paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
    return loss, chance, mae, rmse


def test_metrics_in_variables_of_one_name(executor):
    fetches = build()
    executor.run(static.default_startup_program())
    square = rows = away = 0
    losses = []
    for _ in range(8):
        loss, chance, mae, rmse = executor.run(feed=CLICKS, fetch_list=list(fetches))
        losses.append(loss.item())
        rows += 32  # both metrics add their rows to the same variable
        away += np.abs(chance - CLICKS["label"]).sum()
        square += ((chance - CLICKS["label"]) ** 2).sum()
        np.testing.assert_allclose(rmse.item(), np.sqrt(square / rows), rtol=1e-5)
        # Names begin anew under each guard: the second metric wrote over the first one's result.
        np.testing.assert_allclose(mae.item(), square / rows, rtol=1e-5)
    assert fetches[2].name == "tmp_2" and losses[-1] < losses[0]
    scope = static.global_scope()
    total = scope.find_var("total_cnt").get_tensor()
    assert total._get_dims() == [1] and np.array(total).item() == rows
    np.testing.assert_allclose(np.array(scope.find_var("abserr").get_tensor()), [away], rtol=1e-5)
    assert scope.find_var("nothing_of_this_name") is None


def test_train_and_test_nets_share_parameters(executor):
    def net():
        x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 1], "int64")
        logits = fluid.layers.fc(fluid.layers.fc(x, 16, act="relu"), 3)
        loss = fluid.layers.reduce_mean(fluid.layers.softmax_with_cross_entropy(logits, y))
        return loss, fluid.layers.accuracy(fluid.layers.softmax(logits), y)

    train, test, startup = fluid.Program(), fluid.Program(), fluid.Program()
    with fluid.program_guard(train, startup), fluid.unique_name.guard():
        loss, _ = net()
        fluid.optimizer.SGD(learning_rate=0.5).minimize(loss, startup)
    with fluid.program_guard(test, fluid.Program()), fluid.unique_name.guard():
        _, accuracy = net()
    rows = np.random.RandomState(0).rand(60, 8).astype("float32")
    feed = {"x": rows, "y": rows[:, :3].argmax(1)[:, None]}
    executor.run(startup)
    before = executor.run(test, feed, [accuracy])[0].item()
    losses = [executor.run(train, feed, [loss])[0][0] for _ in range(100)]
    assert losses[-1] < 0.5 * losses[0]
    assert executor.run(test, feed, [accuracy.name])[0].item() > max(0.85, before)


@pytest.mark.parametrize("words", [fluid.layers, static.nn], ids=["1x", "2x"])
def test_names_of_a_residual_block(words):
    x = static.data("x", [None, 3, 8, 8])
    attr = fluid.ParamAttr("res2a_branch2a_weights")
    conv = words.conv2d(
        *(x, 4, 3, 1, 1), param_attr=attr, bias_attr=False, name="res2a_branch2a.conv2d.output.1"
    )
    norm = words.batch_norm(
        conv,
        act="relu",
        name="bn2a_branch2a.output.1",
        param_attr=fluid.ParamAttr(name="bn2a_branch2a_scale"),
        bias_attr=fluid.param_attr.ParamAttr("bn2a_branch2a_offset"),
        moving_mean_name="bn2a_branch2a_mean",
        moving_variance_name="bn2a_branch2a_variance",
    )
    total = fluid.layers.elementwise_add(x=norm, y=conv, act="relu", name="res2a.add.output.5")
    assert conv.name == "res2a_branch2a.conv2d.output.1.tmp_0"
    assert norm.name == "bn2a_branch2a.output.1.tmp_4"
    assert total.name == "res2a.add.output.5.tmp_1"
    block = static.default_main_program().global_block()
    assert block.has_var("res2a.add.output.5.tmp_0") and total.shape == (-1, 4, 8, 8)
    assert [p.name for p in block.all_parameters()] == [
        *("res2a_branch2a_weights", "bn2a_branch2a_scale", "bn2a_branch2a_offset"),
        *("bn2a_branch2a_mean", "bn2a_branch2a_variance"),
    ]


def test_nets(executor):
    x, y = fluid.data("x", [None, 1, 12, 12]), fluid.data("y", [None, 1], "int64")
    first = fluid.nets.simple_img_conv_pool(x, 4, 3, 2, 2, act="relu")
    second = fluid.nets.img_conv_group(
        *(first, [4, 4], 2),
        conv_act="relu",
        conv_with_batchnorm=True,
        conv_batchnorm_drop_rate=[0.1, 0.0],
        pool_stride=2,
    )
    loss = fluid.layers.mean(
        fluid.layers.cross_entropy(fluid.layers.fc(second, 3, act="softmax"), y)
    )
    fluid.optimizer.Adam(0.01).minimize(loss)
    executor.run(fluid.default_startup_program())
    images = np.random.RandomState(0).rand(30, 1, 12, 12).astype("float32")
    labels = np.arange(30)[:, None] % 3
    images[np.arange(30), 0, labels[:, 0] * 4] += 2
    losses = [
        executor.run(feed={"x": images, "y": labels}, fetch_list=[loss])[0].item()
        for _ in range(40)
    ]
    assert losses[-1] < 0.5 * losses[0]


def test_sequences_give_one_row_each(executor):
    x = fluid.layers.data("x", [2], lod_level=1)
    made = [
        fluid.layers.sequence_pool(x, "sum"),
        fluid.layers.sequence_pool(x, "max"),
        fluid.layers.sequence_first_step(x),
        static.nn.sequence_last_step(x),
    ]
    rows = np.arange(10, dtype="float32").reshape(5, 2)
    tensor = fluid.create_lod_tensor(rows, [[2, 3]], fluid.CPUPlace())
    found = executor.run(feed={"x": tensor}, fetch_list=made)
    np.testing.assert_array_equal(found[0], [rows[:2].sum(0), rows[2:].sum(0)])
    np.testing.assert_array_equal(found[1], [rows[1], rows[4]])
    np.testing.assert_array_equal(found[2], rows[[0, 2]])
    np.testing.assert_array_equal(found[3], rows[[1, 4]])


def test_every_op_that_words_append_is_there():
    import pathlib
    import re

    from _flotilla import op_types

    folder = pathlib.Path(paddle.__file__).parent
    pattern = re.compile(r'(?:core\.op|append_op|Rule)\(\s*"(\w+)"')
    found = {name for path in folder.rglob("*.py") for name in pattern.findall(path.read_text())}
    assert len(found) > 20  # what tables append, test_rows.py asks for
    assert found - set(op_types()) == set()


def test_the_gradient_of_as_many_of_the_largest_as_a_variable_says():
    x = paddle.static.data("x", [None, 3])
    x.stop_gradient = False
    largest, _ = paddle.topk(x, paddle.full([1], 2, "int32"))
    (gradient,) = paddle.static.gradients(paddle.sum(largest), x)
    feed = {"x": np.array([[1, 3, 2], [6, 5, 4]], "float32")}
    (found,) = paddle.static.Executor().run(feed=feed, fetch_list=[gradient])
    np.testing.assert_array_equal(found, [[0, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize("use_cudnn", [True, False])
def test_parameters_of_depthwise_convolutions_have_the_names_of_paddle(use_cudnn):
    x = static.data("x", [None, 4, 6, 6])
    y = static.nn.conv2d(x, 8, 3, groups=4, use_cudnn=use_cudnn)
    static.nn.conv2d(y, 8, 3, groups=4, use_cudnn=use_cudnn)
    kind = "conv2d" if use_cudnn else "depthwise_conv2d"
    second = "conv2d_1" if use_cudnn else "conv2d_0"  # two channels a group
    names = [parameter.name for parameter in static.default_main_program().all_parameters()]
    assert names == [f"{kind}_0.w_0", f"{kind}_0.b_0", f"{second}.w_0", f"{second}.b_0"]
