"""Cases that 1.8.5 answers: ops that live in its programs, or behave there as the documents say."""

from cases.dsl import case, full, positive, uniform, values


def cases():
    x = values([0.1, 0.7, 0.2, 0.9, 0.05, 0.03, 0.3, 0.1, 0.6, 0.4, 0.35, 0.25], 4, 3)
    labels = values([2, 0, 1, 2], 4, 1, dtype="int64")
    yield case("top_k", {"X": x}, "Out Indices", {"k": 2}, dtypes={"Indices": "int64"}, grad="X")
    yield case("cross_entropy", {"X": x, "Label": labels}, "Y", {"soft_label": False}, grad="X")
    soft = uniform(4, 3, low=0.1, high=0.5)
    yield case("cross_entropy.soft", {"X": x, "Label": soft}, "Y", {"soft_label": True}, grad="X")
    yield case("cross_entropy2", {"X": x, "Label": labels}, "Y -XShape MatchX", grad="X")
    zero = values([0.0, 1.0, 0.5, 0.5], 2, 2)
    wanted = values([0, 1], 2, 1, dtype="int64")
    yield case("cross_entropy2.zero", {"X": zero, "Label": wanted}, "Y -XShape MatchX")
    missing = values([2, -100, 1, -100], 4, 1, dtype="int64")
    yield case("cross_entropy2.ignore", {"X": x, "Label": missing}, "Y -XShape MatchX", grad="X")
    yield case("mean", {"X": uniform(2, 3, 4)}, grad="X")
    ids = values([1, 5, 1, 0], 4, 1, dtype="int64")
    yield case("lookup_table", {"W": uniform(8, 3), "Ids": ids}, grad="W")
    rows = {"w@GRAD": [8, 3]}
    yield case(
        "lookup_table.sparse",
        {"W": uniform(8, 3), "Ids": ids},
        attrs={"is_sparse": True},
        grad="W",
        sparse=rows,
    )
    yield case(
        "softmax_with_cross_entropy",
        {"Logits": uniform(4, 5), "Label": labels},
        "Loss Softmax",
        grad="Logits",
    )
    yield case("mul", {"X": uniform(2, 3, 2), "Y": uniform(6, 4)}, grad="X Y")
    yield case(
        "elementwise_add", {"X": uniform(4, 5), "Y": uniform(5)}, attrs={"axis": 1}, grad="X Y"
    )
    yield case("reduce_mean.all", {"X": uniform(2, 3)}, attrs={"reduce_all": True}, grad="X")
    yield case("hard_sigmoid", {"X": uniform(4, 5, low=-5, high=5)}, grad="X")
    yield case(
        "matmul",
        {"X": uniform(2, 3, 4), "Y": uniform(2, 5, 4)},
        attrs={"transpose_Y": True, "alpha": 0.5},
        grad="X Y",
    )
    test = {"is_test": True, "dropout_prob": 0.3}
    yield case("dropout.test", {"X": uniform(3, 4)}, "Out -Mask", test, dtypes={"Mask": "uint8"})
    inputs = {
        "Out": uniform(4, 1),
        "Indices": values([1, 0, 1, 2], 4, 1, dtype="int64"),
        "Label": labels,
    }
    yield case(
        "accuracy", inputs, "Accuracy Correct Total", dtypes={"Correct": "int32", "Total": "int32"}
    )
    p, g, rate = uniform(3, 4), uniform(3, 4), full(0.1, 1)
    momentum = {"Param": p, "Grad": g, "Velocity": uniform(3, 4), "LearningRate": rate}
    yield case("momentum", momentum, "ParamOut VelocityOut", {"mu": 0.9})
    adagrad = {"Param": p, "Grad": g, "Moment": positive(3, 4), "LearningRate": rate}
    yield case("adagrad", adagrad, "ParamOut MomentOut", {"epsilon": 1e-6})
    yield from order_cases()
    yield from image_cases()
    yield from matrix_cases()


def order_cases():
    """Losses of an order, cosines, and what moves channels."""
    left, right, order = uniform(5, 1), uniform(5, 1), values([1, 0, 1, 0, 0.5], 5, 1)
    yield case("rank_loss", {"Label": order, "Left": left, "Right": right}, grad="Left Right")
    sides = values([1, -1, 1, -1, 1], 5, 1)
    yield case(
        "margin_rank_loss",
        {"Label": sides, "X1": left, "X2": right},
        "Activated Out",
        {"margin": 0.1},
        grad="X1 X2",
        seeds="Out",
    )
    classes = values([1, 4, 0], 3, 1, dtype="int64")
    yield case("bpr_loss", {"X": uniform(3, 5), "Label": classes}, "Y", grad="X")
    pair = {"X": uniform(4, 3), "Y": uniform(4, 3)}
    yield case("cos_sim", pair, "Out XNorm YNorm", grad="X Y", seeds="Out")
    one = {"X": uniform(4, 3), "Y": uniform(1, 3)}
    yield case("cos_sim.one", one, "Out XNorm YNorm", grad="X Y", seeds="Out")
    yield case(
        "soft_relu", {"X": uniform(3, 4, low=-3, high=3)}, attrs={"threshold": 2.0}, grad="X"
    )
    # 1.8.5 gives the gradient of 2 groups of 3 to other channels; 2 groups of 2 hide that.
    yield case("shuffle_channel", {"X": uniform(1, 4, 2, 2)}, attrs={"group": 2}, grad="X")
    yield case("shuffle_channel.six", {"X": uniform(1, 6, 2, 2)}, attrs={"group": 2})
    columns = {"kernel_sizes": [3, 2], "strides": [2, 1], "paddings": [1, 2, 0, 3]}
    columns["dilations"] = [1, 2]
    yield case("unfold", {"X": uniform(2, 3, 5, 4)}, "Y", columns, grad="X")


def image_cases():
    """Images of another size, films and features."""
    for type, x, size in (
        ("bicubic", uniform(2, 3, 4, 5), {"out_h": 7, "out_w": 3}),
        ("trilinear", uniform(1, 2, 3, 4, 5), {"out_d": 5, "out_h": 4, "out_w": 2}),
    ):
        for corners, mode in ((True, 1), (False, 0), (False, 1)):
            attrs = {**size, "interp_method": type, "align_corners": corners, "align_mode": mode}
            name = f"{type}_interp.corners{int(corners)}_{mode}"
            yield case(name, {"X": x}, attrs=attrs, grad="X")
        scaled = {"interp_method": type, "scale": 1.5, "align_corners": True}
        yield case(f"{type}_interp.scale", {"X": x}, attrs=scaled, grad="X")
    depthwise = {"strides": [2, 1], "paddings": [1, 0], "dilations": [1, 2], "groups": 4}
    for name, size in (("", []), (".size", [6, 6])):
        inputs = {"Input": uniform(2, 4, 3, 4), "Filter": uniform(4, 1, 3, 2)}
        attrs, name = {**depthwise, "output_size": size}, "depthwise_conv2d_transpose" + name
        yield case(name, inputs, "Output", attrs, grad="Input Filter")
    x = uniform(1, 2, 2, 3)
    places = values([0, 3, 5, 13, 15, 16, 7, 2, 11, 12, 14, 17], 1, 2, 2, 3, dtype="int32")
    pairs = {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0], "unpooling_type": "max"}
    yield case("unpool", {"X": x, "Indices": places}, attrs=pairs, grad="X")
    for name, attrs in (
        ("", {"seg_num": 3}),
        (".most", {"seg_num": 2, "shift_ratio": 0.49}),
        (".still", {"seg_num": 3, "shift_ratio": 0.1}),
    ):
        yield case("temporal_shift" + name, {"X": uniform(6, 5, 2, 3)}, attrs=attrs, grad="X")
    yield case("fsp", {"X": uniform(2, 3, 4, 5), "Y": uniform(2, 2, 4, 5)}, grad="X Y")


def matrix_cases():
    """Distances, diagonals, and some columns of matrices."""
    scores = values([-3, -1.5, -1, 0, 0.5, 1, 2, -2, 0.25, -0.5], 10, 1)
    pair = {"X": scores, "Y": values([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], 10, 1)}
    outputs = "IntermediateVal Out"
    yield case("modified_huber_loss", pair, outputs, grad="X", seeds="Out")
    for name, rows in (("", 4), (".one", 1)):
        pair = {"X": uniform(4, 3), "Y": uniform(rows, 3)}
        name = "squared_l2_distance" + name
        yield case(name, pair, "sub_result Out", grad="X Y", seeds="Out")
    deep = {"X": uniform(2, 3, 2), "Y": uniform(2, 3, 2)}
    yield case("squared_l2_distance.deep", deep, "sub_result Out", grad="X Y", seeds="Out")
    for name, attrs in (("", {}), (".below", {"offset": -1, "dim1": 0, "dim2": 2})):
        yield case("diag_embed" + name, {"Input": uniform(2, 3)}, attrs=attrs)
    matrices = {"X": [uniform(3, 5), uniform(3, 5)]}
    for type in ("partial_concat", "partial_sum"):
        yield case(type, matrices, grad="X")
        attrs = {"start_index": 1, "length": 2}
        yield case(f"{type}.two", matrices, attrs=attrs, grad="X")
    attrs = {"start_index": -2, "length": -1}
    yield case("partial_concat.last", matrices, attrs=attrs, grad="X")
