"""Lines of public programs of 1.8 and 2.x that mean what they mean in Paddle."""

import warnings

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static


def values(executor, fetch, **feed):
    executor.run(static.default_startup_program())
    return executor.run(feed=feed, fetch_list=list(fetch))


# ---- variables in conditions


def test_a_variable_is_there():
    x = static.data("x", [2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x and x
        assert (x if x else None) is x


def test_the_truth_of_a_comparison_is_not_known_yet():
    x = static.data("x", [1])
    with pytest.warns(UserWarning, match="is not known while the program is built") as caught:
        assert x > 0
    assert caught[0].filename == __file__


def test_no_variable_is_none():
    x = static.data("x", [2])
    count = len(static.default_main_program().global_block().ops)
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert len(static.default_main_program().global_block().ops) == count
    assert (x == 1).dtype == paddle.bool and (x != 1).dtype == paddle.bool


# ---- rows that are taken twice


@pytest.mark.parametrize("overwrite", [None, True, False])
def test_a_row_that_1x_gathers_twice(executor, overwrite):
    x, i = fluid.data("x", [4, 2]), fluid.data("i", [3], "int32")
    x.stop_gradient = False
    chosen = {} if overwrite is None else {"overwrite": overwrite}
    weights = fluid.layers.assign(np.array([[1], [2], [3]], "float32"))
    sum = fluid.layers.reduce_sum(fluid.layers.gather(x, i, **chosen) * weights)
    gradient = fluid.gradients([sum], [x])[0]
    fed = {"x": np.ones((4, 2), "float32"), "i": np.array([1, 1, 2], "int32")}
    twice = 3 if overwrite is False else 2
    assert values(executor, [gradient], **fed)[0][:, 0].tolist() == [0, twice, 3, 0]


def test_a_row_that_2x_gathers_twice(executor):
    x, i = static.data("x", [4, 2]), static.data("i", [3], "int32")
    x.stop_gradient = False
    gradient = static.gradients([paddle.sum(paddle.gather(x, i))], [x])[0]
    fed = {"x": np.ones((4, 2), "float32"), "i": np.array([1, 1, 2], "int32")}
    assert values(executor, [gradient], **fed)[0][:, 0].tolist() == [0, 2, 1, 0]


# ---- declarations


def test_any_negative_extent_is_unknown(executor):
    x = fluid.layers.data("x", shape=[-256, 1], append_batch_size=False)
    assert x.shape == (-1, 1)
    assert fluid.layers.data("y", shape=[-256, 1]).shape == (-1, 1)
    doubled = fluid.layers.scale(x, 2.0)
    assert values(executor, [doubled], x=np.ones((3, 1), "float32"))[0].tolist() == [[2]] * 3


@pytest.mark.parametrize("create", [paddle.create_parameter, fluid.layers.create_parameter])
def test_names_of_parameters(create):
    attr = paddle.ParamAttr
    made = [
        create([2], "float32", name="nm", attr=attr(learning_rate=0.5)),
        create([2], "float32", name="nn"),
        create([2], "float32", name="nn", attr=attr(name="zz")),
        create([2], "float32", name="n2", attr=attr(learning_rate=0.5), is_bias=True),
        create([2], "float32", name="n3", is_bias=True),
        create([2], "float32", is_bias=True),
        create([2], "float32"),
        create([2], "float32", name="nm", attr=attr(learning_rate=0.5)),
    ]
    # As 1.8.5 and 2.6.2 name them.
    assert [one.name for one in made] == [
        *("nm.w_0", "nn", "zz", "n2.b_0", "n3"),
        *("create_parameter_0.b_0", "create_parameter_1.w_0", "nm.w_1"),
    ]


# ---- gradients


@pytest.mark.parametrize("way", ["the optimizer", "set_gradient_clip", "2.x"])
def test_what_a_gradient_is_called_that_the_global_norm_clips(executor, way):
    """1.x keeps ``w@GRAD`` as backward left it; 2.x overwrites it."""
    x = fluid.data("x", [2, 4])
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    loss = fluid.layers.mean(fluid.layers.square(fluid.layers.fc(x, 3, param_attr=w)))
    if way == "2.x":
        clip = paddle.nn.ClipGradByGlobalNorm(0.1)
        paddle.optimizer.SGD(0.1, grad_clip=clip).minimize(loss)
    else:
        clip = fluid.clip.GradientClipByGlobalNorm(0.1)
        if way == "set_gradient_clip":
            fluid.clip.set_gradient_clip(clip)
        fluid.optimizer.SGD(0.1, grad_clip=clip if way == "the optimizer" else None).minimize(loss)
    fed = np.arange(8).reshape(2, 4).astype("float32")
    found = values(executor, ["w@GRAD"], x=fed)[0]
    # From 1.8.5 and 2.6.2.
    assert found[0, 0] == pytest.approx(0.01889474 if way == "2.x" else 14.666667, rel=1e-5)
    after = np.array(static.global_scope().find_var("w").get_tensor())
    assert after[0, 0] == pytest.approx(0.5 - 0.1 * 0.01889474, rel=1e-6)


@pytest.mark.parametrize("way", ["the clip", "append_gradient_clip_ops", "not asked for"])
def test_gradients_are_clipped_between_backward_and_updates(executor, way):
    x = fluid.data("x", [2, 4])
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr=w, bias_attr=False))
    optimizer = fluid.optimizer.SGD(1.0)
    pairs = optimizer.backward(loss)
    clip = fluid.clip.GradientClipByValue(0.25)
    if way == "append_gradient_clip_ops":
        fluid.clip.set_gradient_clip(clip)
    clipped = clip(pairs) if way == "the clip" else fluid.clip.append_gradient_clip_ops(pairs)
    optimizer.apply_gradients(clipped)
    found = values(executor, [clipped[0][1], "w@GRAD"], x=np.ones((2, 4), "float32"))
    assert found[0].ravel().tolist() == [1.0 if way == "not asked for" else 0.25] * 4
    assert found[1].ravel().tolist() == [1.0] * 4
    after = np.array(static.global_scope().find_var("w").get_tensor())
    assert after.ravel().tolist() == [-0.5 if way == "not asked for" else 0.25] * 4


# ---- metrics


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_mean_iou(executor, dtype):
    found, right = fluid.data("p", [-1, 3], dtype), fluid.data("l", [-1, 3], dtype)
    outs = fluid.layers.mean_iou(found, right, 4)
    assert [(one.shape, one.dtype) for one in outs] == [
        ((1,), paddle.float32),
        ((4,), paddle.int32),
        ((4,), paddle.int32),
    ]
    fed = {
        "p": np.array([[0, 1, 2], [1, 1, 0]], dtype),
        "l": np.array([[0, 1, 1], [1, 2, 0]], dtype),
    }
    mean, wrong, correct = values(executor, outs, **fed)
    # From 1.8.5.
    assert mean.tolist() == [0.5]
    assert wrong.tolist() == [0, 2, 2, 0] and correct.tolist() == [2, 2, 0, 0]


# ---- batches and loaders


def test_a_batch_size_that_was_computed():
    assert list(paddle.batch(lambda: iter(range(5)), 8 / 2)()) == [[0, 1, 2, 3], [4]]
    x = static.data("x", [-1, 1])
    loader = fluid.io.DataLoader.from_generator(feed_list=[x], capacity=2)
    loader.set_sample_generator(lambda: ([float(i)] for i in range(6)), 4.0, drop_last=False)
    assert [np.array(feed[0]["x"]).shape[0] for feed in loader()] == [4, 2]
    numbers = paddle.io.TensorDataset([np.arange(6, dtype="float32")])
    assert len(paddle.io.DataLoader(numbers, batch_size=4.0)) == 2
    assert len(paddle.io.BatchSampler(numbers, batch_size=4.0)) == 2
    with pytest.raises(
        ValueError, match="batch_size must be a whole number of at least 1, but is 4.5"
    ):
        loader.set_sample_generator(lambda: iter([]), 4.5)
    with pytest.raises(
        ValueError, match="batch_size must be a whole number of at least 1, but is 4.5"
    ):
        paddle.io.DataLoader(numbers, batch_size=4.5)


def test_a_loader_without_a_generator():
    x = fluid.data("x", [-1, 1])
    for loader, said in (
        (
            fluid.io.DataLoader.from_generator([x], 2, iterable=False),
            r"the loader of DataLoader.from_generator\(\) has no generator yet: call set_sample_gen",
        ),
        (
            fluid.io.PyReader([x], 2, iterable=False),
            "the PyReader has no generator yet: call decorate_sample_generator, decorate_sample_list",
        ),
        (
            fluid.layers.py_reader(2, [[-1, 1]], ["float32"]),
            r"the reader of py_reader\(\) has no generator yet: call decorate_paddle_reader or",
        ),
    ):
        with pytest.raises(RuntimeError, match=said):
            loader.start()


# ---- files


def test_a_model_beside_a_folder_of_its_name(executor, tmp_path):
    fluid.layers.fc(fluid.data("x", [2, 3]), 2)
    executor.run(static.default_startup_program())
    (tmp_path / "model").mkdir()
    path = str(tmp_path / "model")
    weight = np.array(static.global_scope().find_var("fc_0.w_0").get_tensor())
    fluid.save(static.default_main_program(), path)
    assert (tmp_path / "model.pdparams").exists()
    static.global_scope().find_var("fc_0.w_0").get_tensor().set(np.zeros((3, 2), "float32"))
    fluid.load(static.default_main_program(), path, executor)
    found = np.array(static.global_scope().find_var("fc_0.w_0").get_tensor())
    assert np.array_equal(found, weight)
    assert np.array_equal(fluid.load_program_state(path)["fc_0.w_0"], weight)


# ---- attributes of layers


@pytest.mark.parametrize(
    "make, expected",
    [
        # From 2.6.2.
        (
            lambda nn: nn.Embedding(5, 3),
            {"_num_embeddings": 5, "_embedding_dim": 3, "_sparse": False, "_padding_idx": None},
        ),
        (lambda nn: nn.Linear(4, 3), {"_weight_attr": None, "_bias_attr": None, "name": None}),
        (
            lambda nn: nn.Conv2D(4, 6, 3, stride=2, padding=1),
            {
                **{
                    "_in_channels": 4,
                    "_out_channels": 6,
                    "_kernel_size": [3, 3],
                    "_stride": [2, 2],
                },
                **{"_padding": 1, "_dilation": [1, 1], "_groups": 1, "_data_format": "NCHW"},
                **{"_padding_mode": "zeros", "_param_attr": None, "_bias_attr": None},
            },
        ),
        (lambda nn: nn.Conv1D(4, 6, 3), {"_kernel_size": [3], "_stride": [1], "output_padding": 0}),
        (
            lambda nn: nn.Conv2DTranspose(4, 6, 2, stride=2),
            {"_kernel_size": [2, 2], "_stride": [2, 2], "_out_channels": 6, "output_padding": 0},
        ),
        (
            lambda nn: nn.BatchNorm2D(4),
            {
                **{"_num_features": 4, "_momentum": 0.9, "_epsilon": 1e-5, "_data_format": "NCHW"},
                **{"_use_global_stats": None, "_weight_attr": None},
            },
        ),
        (
            lambda nn: nn.BatchNorm(4),
            {"_momentum": 0.9, "_epsilon": 1e-5, "_data_layout": "NCHW", "_param_attr": None},
        ),
        (lambda nn: nn.SyncBatchNorm(4), {"_num_features": 4, "_momentum": 0.9}),
        (
            lambda nn: nn.InstanceNorm2D(4),
            {"_num_features": 4, "_momentum": 0.9, "_data_format": "NCHW", "_weight_attr": None},
        ),
        (lambda nn: nn.LayerNorm([4]), {"_normalized_shape": [4], "_epsilon": 1e-5}),
        (lambda nn: nn.GroupNorm(2, 4), {"_num_groups": 2, "_num_channels": 4, "_epsilon": 1e-5}),
        (lambda nn: nn.MaxPool2D(2, 2), {"ksize": 2, "stride": 2, "padding": 0}),
        (lambda nn: nn.AdaptiveAvgPool2D(2), {"_output_size": 2}),
        (lambda nn: nn.Pad2D(1), {"_mode": "constant", "_value": 0.0, "_data_format": "NCHW"}),
        (lambda nn: nn.LeakyReLU(0.2), {"_negative_slope": 0.2, "_name": None}),
        (lambda nn: nn.Dropout(0.3), {"p": 0.3, "mode": "upscale_in_train"}),
        (lambda nn: nn.Softmax(1), {"_axis": 1}),
        (lambda nn: nn.PReLU(), {"_num_parameters": 1, "_init": 0.25}),
    ],
)
def test_attributes_of_layers(make, expected):
    layer = make(paddle.nn)
    assert {name: getattr(layer, name) for name in expected} == expected
    with pytest.raises(AttributeError, match="has no attribute '_nothing'"):
        layer._nothing  # noqa: B018
