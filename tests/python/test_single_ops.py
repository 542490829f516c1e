"""Functions that real Paddle makes one op of are one op here, and what they compute."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static

layers = fluid.layers
X = np.array([[1, -2, 0, 4], [5, 0, 7, -8], [9, 10, -11, 0]], "float32")
Y = np.array([[2, 2, 2, 2], [0, 1, 0, 1], [3, 3, 3, 3]], "float32")
V = np.array([1, 2, 3, 4], "float32")
K = np.array([[3], [0], [9]], "int64")

ROWS = [
    ("lerp", lambda x, y, v, k: paddle.lerp(x, y, 0.25), X + 0.25 * (Y - X)),
    ("lerp", lambda x, y, v, k: paddle.lerp(x, y, v), X + V * (Y - X)),
    ("mv", lambda x, y, v, k: paddle.mv(x, v), X @ V),
    ("dist", lambda x, y, v, k: paddle.dist(x, y, 3), np.cbrt((np.abs(X - Y) ** 3).sum())),
    ("dist", lambda x, y, v, k: layers.dist(x, v, float("inf")), np.abs(X - V).max()),
    ("frobenius_norm", lambda x, y, v, k: paddle.norm(x), np.sqrt((X**2).sum())),
    (
        "frobenius_norm",
        lambda x, y, v, k: paddle.norm(x, axis=[0, 1], keepdim=True),
        np.sqrt((X**2).sum()).reshape(1, 1),
    ),
    ("p_norm", lambda x, y, v, k: paddle.norm(x, 1), np.abs(X).sum()),
    ("is_empty", lambda x, y, v, k: paddle.is_empty(x), np.array([False])),
    ("is_empty", lambda x, y, v, k: layers.is_empty(x), np.array([False])),
    (
        "elementwise_heaviside",
        lambda x, y, v, k: paddle.heaviside(x, v),
        np.heaviside(X, V),
    ),
    (
        "broadcast_tensors",
        lambda x, y, v, k: paddle.broadcast_tensors([x, v])[1],
        np.broadcast_to(V, X.shape),
    ),
    ("crop_tensor", lambda x, y, v, k: paddle.crop(x, [2, -1], [1, 1]), X[1:3, 1:]),
    ("crop_tensor", lambda x, y, v, k: paddle.crop(x, offsets=[0, 2]), X[:, 2:]),
    ("crop_tensor", lambda x, y, v, k: layers.crop_tensor(x, [1, 2]), X[:1, :2]),
    ("crop", lambda x, y, v, k: layers.crop(x, [1, 2], [2, 0]), X[2:, :2]),
    (
        "crop",
        lambda x, y, v, k: layers.crop(x, k, layers.assign(np.array([0, 3], "int32"))),
        X[:, 3:],
    ),
    (
        "pad_constant_like",
        lambda x, y, v, k: layers.pad_constant_like(x, x[0:2, 0:3], 9.0),
        np.pad(X[:2, :3], [(0, 1), (0, 1)], constant_values=9),
    ),
    (
        "shard_index",
        lambda x, y, v, k: paddle.shard_index(k, 10, 2, 0, -7),
        np.array([[3], [0], [-7]]),
    ),
    ("diag", lambda x, y, v, k: layers.diag(v), np.diag(V)),
]


@pytest.mark.parametrize("type, build, expected", ROWS, ids=[type for type, *_ in ROWS])
def test_values(executor, type, build, expected):
    feed = {"x": X, "y": Y, "v": V, "k": K}
    made = build(*(static.data(name, one.shape, one.dtype.name) for name, one in feed.items()))
    assert static.default_main_program().global_block().ops[-1].type == type
    (found,) = executor.run(feed=feed, fetch_list=[made])
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5)


def test_crops_by_variables(executor):
    x, extents = static.data("x", X.shape), static.data("extents", [2], "int32")
    two, one = layers.fill_constant([1], "int32", 2), static.data("one", [1], "int32")
    made = [paddle.crop(x, extents), paddle.crop(x, [two, 3]), paddle.crop(x, [2, 2], [one, 1])]
    feed = {"x": X, "extents": np.array([1, 3], "int32"), "one": np.array([1], "int32")}
    found = executor.run(feed=feed, fetch_list=made)
    for ours, expected in zip(found, [X[:1, :3], X[:2, :3], X[1:3, 1:3]]):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique(executor, axis):
    array = np.array([[2, 1, 2], [3, 0, 3], [2, 1, 2]], "int64")
    made = paddle.unique(static.data("k", array.shape, "int64"), True, True, True, axis)
    assert static.default_main_program().global_block().ops[-1].type == "unique"
    found = executor.run(feed={"k": array}, fetch_list=list(made))
    for ours, expected in zip(found, np.unique(array, True, True, True, axis)):
        np.testing.assert_array_equal(ours, np.reshape(expected, ours.shape))


def test_unique_gives_what_is_asked_for(executor):
    x = static.data("x", [4])
    alone, counted = paddle.unique(x), paddle.unique(x, return_counts=True, dtype="int32")
    feed = {"x": np.array([3, 1, 3, 2], "float32")}
    found = executor.run(feed=feed, fetch_list=[alone, *counted])
    assert len(counted) == 2 and found[2].dtype == np.int32
    for ours, expected in zip(found, [[1, 2, 3], [1, 2, 3], [1, 1, 2]]):
        np.testing.assert_array_equal(ours, expected)


def test_units_are_one_op():
    x, h, c = (static.data(name, [3, width]) for name, width in (("x", 6), ("h", 2), ("c", 2)))
    layers.gru_unit(x, h, 6)
    layers.lstm_unit(x, h, c)
    types = [op.type for op in static.default_main_program().global_block().ops]
    assert types.count("gru_unit") == 1 and types[-1] == "lstm_unit"
    with pytest.raises(ValueError, match="an activation must be one of .* but is 'softmax'"):
        layers.gru_unit(x, h, 6, activation="softmax")


def test_focal_loss_of_classes(executor):
    x = static.data("x", [2, 2])
    label, count = static.data("label", [2, 1], "int32"), static.data("count", [1], "int32")
    loss = layers.sigmoid_focal_loss(x, label, count, gamma=2.0, alpha=0.25)
    feed = {"x": np.zeros([2, 2], "float32"), "label": np.array([[1], [-1]], "int32")}
    feed["count"] = np.array([1], "int32")
    (found,) = executor.run(feed=feed, fetch_list=[loss])
    half = 0.25 * np.log(2)
    np.testing.assert_allclose(found, [[0.25 * half, 0.75 * half], [0, 0]], rtol=1e-5)
