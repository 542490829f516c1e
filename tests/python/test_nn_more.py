"""Layers whose values real Paddle cannot tell: synchronised norms, and what is refused."""

import numpy as np
import paddle
import pytest
from paddle import nn, static

IMAGES = np.random.RandomState(3).randn(4, 3, 5, 5).astype("float32")


def values(executor, *outs):
    executor.run(static.default_startup_program())
    return executor.run(feed={"x": IMAGES}, fetch_list=list(outs))


def test_a_synchronised_norm_of_one_process_is_a_norm(executor):
    x = static.data("x", [None, 3, 5, 5])
    mine, plain = nn.SyncBatchNorm(3), nn.BatchNorm2D(3)
    found = values(executor, mine(x), plain(x))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
    ops = [op.type for op in static.default_main_program().global_block().ops]
    assert ops == ["sync_batch_norm", "batch_norm"]


def test_norms_become_synchronised(executor):
    net = nn.Sequential(nn.Conv2D(3, 2, 3), nn.Sequential(nn.BatchNorm2D(2), nn.ReLU()))
    weight = net[1][0].weight.name
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(net[1][0], nn.SyncBatchNorm) and net[1][0].weight.name == weight
    out = net(static.data("x", [None, 3, 5, 5]))
    assert values(executor, out)[0].shape == (4, 2, 3, 3)
    assert sorted(p.name for p in net.parameters()) == sorted(set(p.name for p in net.parameters()))


def test_attention_without_a_cache():
    x = static.data("x", [None, 3, 4])
    with pytest.raises(ValueError, match="cache is not implemented"):
        nn.MultiHeadAttention(4, 2)(x, cache=(x, x))
    with pytest.raises(ValueError, match="embed_dim, 4, cannot be cut into 3 heads"):
        nn.MultiHeadAttention(4, 3)
    with pytest.raises(ValueError, match="has 2 parts, but 3 attributes"):
        nn.TransformerEncoderLayer(4, 2, 8, weight_attr=[None, None, None])


def test_attributes_for_each_part():
    attrs = [paddle.ParamAttr(initializer=nn.initializer.Constant(v)) for v in (1.0, 2.0, 3.0)]
    net = nn.Transformer(4, 2, 1, 1, 8, weight_attr=attrs, bias_attr=False)
    layer = net.decoder.layers[0]
    startup = static.default_startup_program().global_block()
    start = {op.output("Out")[0]: op.attr("value") for op in startup.ops if op.has_attr("value")}
    parts = [layer.self_attn.q_proj, layer.cross_attn.q_proj, layer.linear1]
    assert [start[part.weight.name] for part in parts] == [1, 2, 3]
    assert start[net.encoder.layers[0].linear1.weight.name] == 3
    assert layer.linear1.bias is None


def test_a_place_sees_those_before_it(executor):
    net = nn.Transformer(4, 2, 1, 1, 8)
    mask = executor.run(fetch_list=[net.generate_square_subsequent_mask(3)])[0]
    np.testing.assert_array_equal(np.isinf(mask), np.triu(np.ones([3, 3]), 1) == 1)


def test_forms_of_images(executor):
    """Windows go back to where they come from; volumes and sequences get other sizes."""
    x = static.data("x", [4, 3, 5, 5])
    columns = nn.Unfold(5)(x)
    places = paddle.argmax(nn.Flatten(2)(x), axis=2)
    most = paddle.reshape(paddle.cast(places, "int32"), [4, 3, 1, 1])
    pooled = nn.AdaptiveMaxPool2D(1)(x)
    outs = [
        nn.Fold(5, 5)(columns),
        nn.MaxUnPool2D(5)(pooled, most),
        nn.functional.temporal_shift(x, 2, 0.34),
        nn.Upsample([10], mode="linear", data_format="NCW")(nn.Flatten(2)(x)),
        nn.functional.interpolate(
            paddle.unsqueeze(x, 2), scale_factor=2, mode="trilinear", data_format="NCDHW"
        ),
        nn.functional.interpolate(x, [5, 5], mode="bicubic"),
    ]
    found = values(executor, *outs)
    np.testing.assert_array_equal(found[0], IMAGES)
    assert np.count_nonzero(found[1]) == 12
    np.testing.assert_array_equal(found[1].max((2, 3)), np.maximum(IMAGES.max((2, 3)), 0))
    np.testing.assert_array_equal(found[2][1, 0], IMAGES[0, 0])
    np.testing.assert_array_equal(found[2][0, 1], IMAGES[1, 1])
    assert found[3].shape == (4, 3, 10) and found[4].shape == (4, 3, 2, 10, 10)
    np.testing.assert_allclose(found[5], IMAGES, rtol=1e-6, atol=1e-6)


def test_gains():
    gain = nn.initializer.calculate_gain
    assert [round(gain(word), 6) for word in ("tanh", "relu", "selu")] == [1.666667, 1.414214, 0.75]
    assert gain("leaky_relu", 1.0) == 1
    with pytest.raises(ValueError, match="nonlinearity must be one of"):
        gain("soft")


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda x: nn.functional.interpolate(x, [4, 4], 2), "one of size and scale_factor"),
        (
            lambda x: nn.functional.interpolate(x, [4, 4], mode="area"),
            "mode must be one of nearest",
        ),
        (lambda x: nn.functional.interpolate(x, [4]), "must hold height and width"),
        (lambda x: nn.functional.interpolate(x, [4], mode="linear"), "must have rank 3"),
        (lambda x: nn.functional.fold(x, 4, 2), "must be columns, .N, rows, places., but"),
        (lambda x: nn.functional.max_unpool2d(x, x, 2, data_format="NHWC"), 'must be "NCHW"'),
        (lambda x: nn.functional.temporal_shift(x, 3), "2 images cannot be cut into films of"),
        (
            lambda x: nn.functional.max_pool2d(x, 2, return_mask=True, ceil_mode=True),
            "not implemented",
        ),
        (lambda x: nn.functional.max_pool2d(x, 2, 2, "SAME", return_mask=True), "not 'SAME'"),
        (lambda x: nn.functional.maxout(x, 2), r"channels of .* cannot be cut into groups of 2"),
        (lambda x: nn.functional.pixel_shuffle(x, 2, "HWC"), "a data format is NCHW or NHWC, but"),
        (lambda x: paddle.shard_index(x, 4, 2, 2), r"shard_id must lie in \[0, 2\), but is 2"),
        (lambda x: paddle.broadcast_shape([2, 3], [4, 3]), "do not go together: 2, 4"),
        (lambda x: paddle.view(x, "int32"), "view as another dtype is not implemented"),
        (lambda x: paddle.cumprod(x), "cumprod needs dim"),
        (lambda x: paddle.kthvalue(x, 5), r"k must lie in \[1, 4\]"),
        (lambda x: paddle.repeat_interleave(x, 0, 0), "Repeats must be positive, but is 0"),
        (lambda x: paddle.put_along_axis(x, x, 1, 0, "mul"), "Index must hold i64 or i32"),
        (lambda x: paddle.incubate.identity_loss(x, "max"), 'must be "sum", "mean" or "none"'),
        (lambda x: nn.functional.unfold(x, [1, 2, 3]), "kernel_sizes must hold 2 numbers"),
        (lambda x: nn.functional.unfold(x, 2, paddings=[1, 2, 3]), "paddings must hold 4 numbers"),
    ],
)
def test_wrong_calls(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(static.data("x", [2, 3, 4, 4]))


def test_what_is_called_a_loss(executor):
    x = static.data("x", [4])
    losses = [paddle.incubate.identity_loss(x, word) for word in ("sum", 1, "none")]
    values = np.array([1, -2, 3, 5], "float32")
    found = executor.run(feed={"x": values}, fetch_list=losses)
    for each, expected in zip(found, (7, 1.75, values)):
        np.testing.assert_allclose(each, expected, rtol=1e-6)


def test_a_weight_of_ones_and_soft_labels(executor):
    """The weight is that of the part of a label that is one: real Paddle is wrong below zero."""
    x, y = np.array([-3, -0.5, 0.5, 2], "float32"), np.array([0, 0.3, 1, 0.9], "float32")
    logit, label = static.data("x", [4]), static.data("y", [4])
    three = paddle.full([1], 3.0)
    loss = nn.functional.binary_cross_entropy_with_logits(
        logit, label, reduction="none", pos_weight=three
    )
    (found,) = executor.run(feed={"x": x, "y": y}, fetch_list=[loss])
    chance = 1 / (1 + np.exp(-x))
    expected = -3 * y * np.log(chance) - (1 - y) * np.log(1 - chance)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
