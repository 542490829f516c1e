"""Layers that real Paddle makes one op of: its programs of them, gradients included, run here.

A row holds a name, the inputs as name -> (shape, dtype, rule), and the expression that gives the
result: of fluid.layers `L` in 1.8, of `paddle` and its nn.functional `F` in 2.x. Inputs of float32
are differentiated by.
"""

import rules

FLOATS, UNIT = ("uniform", -1.0, 1.0), ("uniform", 0.1, 0.9)


def floats(*shape, rule=FLOATS):
    return shape, "float32", rule


def whole(numbers, *shape, dtype="int64"):
    return shape, dtype, ("values", numbers)


IMAGES = {"x": floats(2, 8, 2, 3)}
PAIR = {"x": floats(4, 3), "y": floats(4, 3)}
ORDER = {"label": floats(4, 1, rule=UNIT), "left": floats(4, 1), "right": floats(4, 1)}
NUMBERS = {
    "x": whole([1, 2, 3], 3, dtype="float64"),
    "y": whole([1, 2, 5], 3, dtype="float64"),
}

PAIR_OF_SIZES = {"x": floats(4, 3), "y": floats(2, 2)}

ROWS_1X = [
    ("maxout", IMAGES, "L.maxout(x, 2)"),
    ("pixel_shuffle", IMAGES, "L.pixel_shuffle(x, 2)"),
    ("shuffle_channel", IMAGES, "L.shuffle_channel(x, 2)"),
    ("sequence_mask", {"x": whole([1, 3, 2], 3)}, "L.sequence_mask(x, 4, 'float32')"),
    ("sequence_mask.longest", {"x": whole([1, 3, 2], 3)}, "L.sequence_mask(x)"),
    ("cos_sim", PAIR, "L.cos_sim(x, y)"),
    ("cross", PAIR, "L.cross(x, y)"),
    ("allclose", NUMBERS, "L.allclose(x, y, atol=3.0)"),
    (
        "affine_channel",
        {"x": floats(2, 3, 2, 2), "s": floats(3), "b": floats(3)},
        "L.affine_channel(x, s, b)",
    ),
    ("rank_loss", ORDER, "L.rank_loss(label, left, right)"),
    ("margin_rank_loss", ORDER, "L.margin_rank_loss(label, left, right, 0.2)"),
    ("bpr_loss", {"x": floats(2, 4), "k": whole([1, 3], 2, 1)}, "L.bpr_loss(x, k)"),
    ("soft_relu", {"x": floats(3, 4)}, "L.soft_relu(x, 0.5)"),
    ("crop", {"x": floats(3, 4)}, "L.crop(x, [2, 2], [1, 1])"),
    ("crop.pattern", {"x": floats(3, 4), "y": floats(2, 3)}, "L.crop(x, y, [1, 0])"),
    ("crop_tensor", {"x": floats(3, 4)}, "L.crop_tensor(x, [2, -1], [1, 1])"),
    (
        "crop_tensor.variables",
        {"x": floats(3, 4)},
        "L.crop_tensor(x, [L.fill_constant([1], 'int32', 2), 2], "
        "[1, L.fill_constant([1], 'int32', 1)])",
    ),
    ("pad_constant_like", PAIR_OF_SIZES, "L.pad_constant_like(x, y, 0.5)"),
    ("shard_index", {"x": whole([0, 3, 2], 3, 1)}, "L.shard_index(x, 4, 2, 1)"),
    ("is_empty", {"x": whole([0, 3, 2], 3, 1)}, "L.is_empty(x)"),
    ("diag", {"x": whole([1, 2, 3], 3, dtype="float64")}, "L.diag(x)"),
    ("dist", PAIR, "L.dist(x, y, 3)"),
    ("dist.largest", PAIR, "L.dist(x, y, float('inf'))"),
    (
        "sigmoid_focal_loss",
        {
            "x": floats(3, 2),
            "k": whole([1, 0, -1], 3, 1, dtype="int32"),
            "n": whole([2], 1, dtype="int32"),
        },
        "L.sigmoid_focal_loss(x, k, n)",
    ),
]

ROWS_2X = [
    ("maxout", IMAGES, "F.maxout(x, 4)"),
    ("pixel_shuffle", {"x": floats(2, 2, 3, 8)}, "F.pixel_shuffle(x, 2, 'NHWC')"),
    ("pixel_unshuffle", {"x": floats(2, 2, 4, 2)}, "F.pixel_unshuffle(x, 2)"),
    ("channel_shuffle", IMAGES, "F.channel_shuffle(x, 4)"),
    ("sequence_mask", {"x": whole([1, 3, 2], 3)}, "F.sequence_mask(x, 4, 'float32')"),
    (
        "sequence_mask.tensor",
        {"x": whole([1, 3], 2), "n": whole([5], 1, dtype="int32")},
        "F.sequence_mask(x, n)",
    ),
    ("amax", {"x": whole([1, 1, 3, 3, 3, 3], 2, 3, dtype="float32")}, "paddle.amax(x, 1)"),
    ("amin", {"x": whole([1, 1, 3, 3, 3, 3], 2, 3, dtype="float32")}, "paddle.amin(x)"),
    ("fmax", PAIR, "paddle.fmax(x, y)"),
    ("fmin", {"x": floats(4, 3), "y": floats(3)}, "paddle.fmin(x, y)"),
    (
        "take_along_axis",
        {"x": floats(3, 4), "k": whole([1, 3], 1, 2)},
        "paddle.take_along_axis(x, k, 1)",
    ),
    ("cross", PAIR, "paddle.cross(x, y)"),
    ("trunc", {"x": ((3, 4), "float32", ("uniform", -3.0, 3.0))}, "paddle.trunc(x)"),
    ("logit", {"x": floats(3, 4, rule=UNIT)}, "paddle.logit(x, 0.2)"),
    ("kron", {"x": floats(2, 3), "y": floats(2, 2)}, "paddle.kron(x, y)"),
    ("isclose", NUMBERS, "paddle.isclose(x, y, 0.3)"),
    ("allclose", NUMBERS, "paddle.allclose(x, y, atol=3.0)"),
    ("equal_all", NUMBERS, "paddle.equal_all(x, y)"),
    ("einsum", {"x": floats(4, 3), "y": floats(3, 2)}, "paddle.einsum('ij,jk->ki', x, y)"),
    ("einsum.one", {"x": floats(2, 3, 4)}, "paddle.einsum('bij->b', x)"),
    (
        "einsum.batches",
        {"x": floats(2, 3, 4), "y": floats(2, 4, 2), "z": floats(2, 2)},
        "paddle.einsum('bij,bjk,bk->bi', x, y, z)",
    ),
    ("crop", {"x": floats(3, 4)}, "paddle.crop(x, [2, -1], [1, 1])"),
    ("lerp", PAIR, "paddle.lerp(x, y, 0.3)"),
    ("mv", {"x": floats(3, 4), "v": floats(1, 4)}, "paddle.mv(x, paddle.reshape(v, [4]))"),
    ("dist", PAIR, "paddle.dist(x, y, 3)"),
    ("dist.smallest", PAIR, "paddle.dist(x, y, float('-inf'))"),
    ("frobenius_norm", {"x": floats(2, 3, 4)}, "paddle.norm(x, axis=[0, 1])"),
    ("frobenius_norm.all", {"x": floats(2, 3, 4)}, "paddle.norm(x)"),
    ("is_empty", NUMBERS, "paddle.is_empty(x)"),
    (
        "heaviside",
        {"x": whole([-1, 0, 2, 0], 4, dtype="float32"), "y": floats(4)},
        "paddle.heaviside(x, y)",
    ),
    (
        "broadcast_tensors",
        {"x": floats(2, 1), "y": floats(3)},
        "paddle.broadcast_tensors([x, y])[0]",
    ),
    ("shard_index", {"x": whole([0, 3, 2], 3, 1)}, "paddle.shard_index(x, 4, 2, 1)"),
    ("unique", {"x": whole([3, 1, 3, 2], 4)}, "paddle.unique(x)"),
    (
        "unique.counts",
        {"x": whole([3, 1, 3, 2], 2, 2)},
        "paddle.unique(x, return_index=True, return_inverse=True, return_counts=True)[3]",
    ),
    (
        "unique.places",
        {"x": whole([3, 1, 3, 1, 2, 1], 3, 2)},
        "paddle.unique(x, return_inverse=True, axis=0)[1]",
    ),
]


def rows(era):
    return ROWS_1X if era == "1.8.5" else ROWS_2X


def arrays_of(name, inputs):
    return {
        word: rules.draw(f"{name}/{word}", list(shape), dtype, list(rule))
        for word, (shape, dtype, rule) in inputs.items()
    }


def differentiated(inputs):
    return [word for word, (_, dtype, _) in inputs.items() if dtype == "float32"]
