"""Convolution, pooling, normalisation, embeddings, losses and metrics."""

from cases.dsl import case, full, integers, op, positive, program, uniform, values


def convolutions():
    x, w = uniform(2, 4, 7, 6), uniform(6, 4, 3, 3)

    def conv(name, x=x, w=w, **attrs):
        base = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1}
        inputs = {"Input": x, "Filter": w}
        return case(name, inputs, "Output", {**base, **attrs}, grad="Input Filter")

    yield conv("conv2d")
    yield conv("conv2d.padding", paddings=[1, 1])
    yield conv("conv2d.stride", strides=[2, 2], paddings=[1, 1])
    yield conv("conv2d.uneven", strides=[2, 1], paddings=[0, 2])
    yield conv("conv2d.four_paddings", paddings=[1, 0, 2, 1])
    yield conv("conv2d.dilation", dilations=[2, 2], paddings=[2, 2])
    yield conv("conv2d.groups", w=uniform(6, 2, 3, 3), groups=2, paddings=[1, 1])
    yield conv("conv2d.one_by_one", w=uniform(5, 4, 1, 1))
    yield conv("conv2d.one_by_one_stride", w=uniform(5, 4, 1, 1), strides=[2, 2])
    yield conv("conv2d.same", strides=[2, 2], padding_algorithm="SAME")
    yield conv("conv2d.valid", paddings=[3, 3], padding_algorithm="VALID")
    yield conv("conv2d.nhwc", x=uniform(2, 7, 6, 4), data_format="NHWC", paddings=[1, 1])
    yield conv(
        "conv2d.stem",
        x=uniform(1, 3, 12, 12),
        w=uniform(4, 3, 7, 7),
        strides=[2, 2],
        paddings=[3, 3],
    )
    yield conv("depthwise_conv2d", w=uniform(4, 1, 3, 3), groups=4, paddings=[1, 1])


def pools():
    x = uniform(2, 3, 7, 6)

    def pool(name, x=x, grad="X", **attrs):
        base = {"pooling_type": "max", "ksize": [3, 3], "strides": [2, 2], "paddings": [0, 0]}
        return case(name, {"X": x}, attrs={**base, **attrs}, grad=grad)

    yield pool("pool2d.max")
    yield pool("pool2d.max_padding", paddings=[1, 1])
    yield pool("pool2d.max_ceil", ceil_mode=True)
    yield pool("pool2d.max_nhwc", x=uniform(2, 7, 6, 3), data_format="NHWC", paddings=[1, 1])
    yield pool("pool2d.max_global", global_pooling=True)
    yield pool("pool2d.max_same", padding_algorithm="SAME")
    avg = {"pooling_type": "avg"}
    yield pool("pool2d.avg", **avg)
    yield pool("pool2d.avg_exclusive", **avg, paddings=[1, 1], exclusive=True)
    yield pool("pool2d.avg_inclusive", **avg, paddings=[1, 1], exclusive=False)
    yield pool("pool2d.avg_ceil", **avg, ceil_mode=True, exclusive=True)
    yield pool("pool2d.avg_global", **avg, global_pooling=True)
    yield pool("pool2d.avg_adaptive", **avg, adaptive=True, ksize=[3, 2])
    yield pool("pool2d.avg_valid", **avg, paddings=[1, 1], padding_algorithm="VALID")


def normalisations():
    def batch_norm(name, x=uniform(3, 4, 3, 2, low=-1, high=3), **attrs):
        inputs = {
            "X": x,
            "Scale": positive(4),
            "Bias": uniform(4),
            "Mean": uniform(4),
            "Variance": positive(4),
        }
        base = {"momentum": 0.9, "epsilon": 1e-5, "is_test": False, "data_layout": "NCHW"}
        outputs = "Y MeanOut VarianceOut SavedMean SavedVariance -ReserveSpace"
        if attrs.get("is_test") or attrs.get("use_global_stats"):
            outputs = "Y MeanOut VarianceOut -SavedMean -SavedVariance -ReserveSpace"
        grad = "" if attrs.get("is_test") else "X Scale Bias"
        return case(name, inputs, outputs, {**base, **attrs}, grad=grad)

    yield batch_norm("batch_norm.train")
    yield batch_norm("batch_norm.train_momentum", momentum=0.7, epsilon=1e-3)
    yield batch_norm("batch_norm.test", is_test=True)
    yield batch_norm("batch_norm.global_stats", use_global_stats=True)
    yield batch_norm("batch_norm.nhwc", x=uniform(3, 3, 2, 4), data_layout="NHWC")
    yield batch_norm("batch_norm.rows", x=uniform(6, 4))
    yield case(
        "layer_norm",
        {"X": uniform(3, 2, 4), "Scale": positive(8), "Bias": uniform(8)},
        "Y Mean Variance",
        {"begin_norm_axis": 1, "epsilon": 1e-5},
        grad="X Scale Bias",
    )
    x = uniform(3, 4)
    test = {"is_test": True, "dropout_prob": 0.3}
    yield case(
        "dropout.test",
        {"X": x},
        "Out -Mask",
        {**test, "dropout_implementation": "downgrade_in_infer"},
        dtypes={"Mask": "uint8"},
    )
    yield case(
        "dropout.test_upscale",
        {"X": x},
        "Out -Mask",
        {**test, "dropout_implementation": "upscale_in_train"},
        dtypes={"Mask": "uint8"},
    )


def embeddings():
    w = uniform(8, 3)
    ids = values([1, 5, 1, 0, 7, 2], 6, dtype="int64")
    rows = {"w@GRAD": [8, 3]}
    v2 = "lookup_table_v2"
    yield case(v2, {"W": w, "Ids": ids}, attrs={"is_sparse": False}, grad="W")
    yield case(f"{v2}.matrix", {"W": w, "Ids": integers(2, 4, high=8)}, grad="W")
    yield case(f"{v2}.padding", {"W": w, "Ids": ids}, attrs={"padding_idx": 1}, grad="W")
    yield case(
        f"{v2}.sparse", {"W": w, "Ids": ids}, attrs={"is_sparse": True}, grad="W", sparse=rows
    )
    column = values([1, 5, 1, 0, 7, 2], 6, 1, dtype="int64")
    yield case("lookup_table", {"W": w, "Ids": column}, attrs={"is_sparse": False}, grad="W")
    yield case("lookup_table.padding", {"W": w, "Ids": column}, attrs={"padding_idx": 1}, grad="W")
    yield case(
        "lookup_table.sparse",
        {"W": w, "Ids": column},
        attrs={"is_sparse": True},
        grad="W",
        sparse=rows,
    )
    yield program(
        "sum.sparse",
        {"w": w, "a": ids, "b": values([0, 1, 1], 3, dtype="int64")},
        [
            op(v2, {"W": ["w"], "Ids": ["a"]}, {"Out": ["p"]}, {"is_sparse": True}),
            op(v2, {"W": ["w"], "Ids": ["b"]}, {"Out": ["q"]}, {"is_sparse": True}),
        ],
        ["p", "q"],
        grad=["w"],
        seeds=["p", "q"],
        sparse=rows,
    )
    yield program(
        "sum.dense_and_sparse",
        {"w": w, "a": ids},
        [
            op(v2, {"W": ["w"], "Ids": ["a"]}, {"Out": ["p"]}, {"is_sparse": True}),
            op("square", {"X": ["w"]}, {"Out": ["q"]}),
        ],
        ["p", "q"],
        grad=["w"],
        seeds=["p", "q"],
    )


def losses():
    logits, labels = uniform(4, 5, low=-3, high=3), values([0, 4, 2, 1], 4, 1, dtype="int64")
    soft = uniform(4, 5, low=0, high=0.4)
    name = "softmax_with_cross_entropy"
    both = {"Logits": logits, "Label": labels}
    yield case(name, both, "Loss Softmax", grad="Logits")
    yield case(
        f"{name}.soft",
        {"Logits": logits, "Label": soft},
        "Loss Softmax",
        {"soft_label": True},
        grad="Logits",
    )
    yield case(f"{name}.ignore", both, "Loss Softmax", {"ignore_index": 2}, grad="Logits")
    yield case(
        f"{name}.axis",
        {"Logits": uniform(2, 5, 3, low=-3, high=3), "Label": integers(2, 1, 3, high=5)},
        "Loss Softmax",
        {"axis": 1},
        grad="Logits",
    )
    yield case(
        f"{name}.large",
        {"Logits": uniform(4, 5, low=-90, high=90), "Label": labels},
        "Loss Softmax",
        grad="Logits",
    )
    chances = uniform(4, 5, low=0.05, high=0.9)
    yield case("cross_entropy2", {"X": chances, "Label": labels}, "Y -XShape MatchX", grad="X")
    yield case(
        "cross_entropy2.ignore",
        {"X": chances, "Label": labels},
        "Y -XShape MatchX",
        {"ignore_index": 4},
        grad="X",
    )
    predicted, truth = uniform(5, 1, low=0.05, high=0.95), values([1, 0, 0, 1, 1], 5, 1)
    yield case(
        "log_loss",
        {"Predicted": predicted, "Labels": truth},
        "Loss",
        {"epsilon": 1e-4},
        grad="Predicted",
    )
    yield case(
        "sigmoid_cross_entropy_with_logits",
        {"X": uniform(5, 3, low=-4, high=4), "Label": uniform(5, 3, low=0, high=1)},
        grad="X",
    )
    yield case(
        "huber_loss",
        {"X": uniform(5, 1), "Y": uniform(5, 1, low=-3, high=3)},
        "Out -Residual",
        {"delta": 1.0},
        grad="X Y",
    )


def metrics():
    x = values([0.1, 0.7, 0.2, 0.9, 0.05, 0.03, 0.3, 0.1, 0.6, 0.4, 0.35, 0.25], 4, 3)
    yield case("top_k_v2", {"X": x}, "Out Indices", {"k": 2}, dtypes={"Indices": "int64"}, grad="X")
    yield case(
        "top_k_v2.smallest",
        {"X": x},
        "Out Indices",
        {"k": 2, "largest": False},
        dtypes={"Indices": "int64"},
    )
    yield case(
        "top_k_v2.axis", {"X": x}, "Out Indices", {"k": 1, "axis": 0}, dtypes={"Indices": "int64"}
    )
    yield case("top_k", {"X": x}, "Out Indices", {"k": 2}, dtypes={"Indices": "int64"}, grad="X")
    yield case("arg_max", {"X": x}, attrs={"axis": -1, "dtype": 3}, dtypes={"Out": "int64"})
    inputs = {
        "Out": uniform(4, 2),
        "Indices": values([1, 2, 0, 1, 2, 0, 0, 1], 4, 2, dtype="int64"),
        "Label": values([2, 2, 1, 1], 4, 1, dtype="int64"),
    }
    yield case(
        "accuracy", inputs, "Accuracy Correct Total", dtypes={"Correct": "int32", "Total": "int32"}
    )
    for slide, shape in ((0, [1, 33]), (2, [3 * 33 + 1])):
        inputs = {
            "Predict": uniform(12, 2, low=0, high=1),
            "Label": integers(12, 1, high=2),
            "StatPos": full(0, *shape, dtype="int64"),
            "StatNeg": full(0, *shape, dtype="int64"),
        }
        outputs = "AUC StatPosOut StatNegOut"
        attrs = {"curve": "ROC", "num_thresholds": 32, "slide_steps": slide}
        types = {"AUC": "float64", "StatPosOut": "int64", "StatNegOut": "int64"}
        yield case(f"auc.slide{slide}", inputs, outputs, attrs, dtypes=types)


def channels():
    x, last = uniform(2, 8, 2, 3), {"data_format": "NHWC"}
    yield case("maxout", {"X": x}, attrs={"groups": 2, "axis": 1}, grad="X")
    equal = values([1, 1, 2, 0], 1, 1, 1, 4)
    yield case("maxout.equal", {"X": equal}, attrs={"groups": 2, "axis": 3}, grad="X")
    for type, factor in (
        ("pixel_shuffle", {"upscale_factor": 2}),
        ("channel_shuffle", {"groups": 4}),
    ):
        yield case(type, {"X": x}, attrs={**factor, "data_format": "NCHW"}, grad="X")
        yield case(f"{type}.last", {"X": uniform(2, 2, 3, 8)}, attrs={**factor, **last}, grad="X")
    wide, factor = uniform(2, 2, 4, 6), {"downscale_factor": 2}
    yield case("pixel_unshuffle", {"X": wide}, attrs={**factor, "data_format": "NCHW"}, grad="X")
    yield case(
        "pixel_unshuffle.last", {"X": uniform(2, 4, 6, 3)}, attrs={**factor, **last}, grad="X"
    )


def unfold(sizes, strides=(1, 1), paddings=(0, 0, 0, 0), dilations=(1, 1)):
    words = {"kernel_sizes": sizes, "strides": strides, "paddings": paddings}
    return {name: list(numbers) for name, numbers in {**words, "dilations": dilations}.items()}


def columns():
    image = {"X": uniform(2, 3, 5, 4)}
    yield case("unfold", image, "Y", unfold((2, 3)), grad="X")
    yield case("unfold.around", image, "Y", unfold((3, 2), (2, 1), (1, 2, 0, 3)), grad="X")
    yield case("unfold.dilated", image, "Y", unfold((2, 2), (1, 2), (2, 0, 0, 1), (3, 2)), grad="X")
    yield case("unfold.cut", image, "Y", unfold((2, 2), paddings=(-1, 0, 0, -1)), grad="X")
    wide = {"X": uniform(1, 2, 3, 3, dtype="float64")}
    yield case("unfold.float64", wide, "Y", unfold((2, 2)), dtypes={"Y": "float64"}, grad="X")


def folds():
    def fold(name, columns, output, *window):
        return case(
            name, {"X": columns}, "Y", {"output_sizes": output, **unfold(*window)}, grad="X"
        )

    # 2.6.2 counts the first two paddings twice, so that uneven ones do not fit.
    yield fold("fold", uniform(2, 18, 16), [5, 4], (2, 3), (1, 1), (0, 1, 0, 1))
    yield fold("fold.around", uniform(1, 12, 9), [5, 4], (3, 2), (2, 2), (1, 1, 1, 1))
    yield fold("fold.gaps", uniform(2, 4, 4), [5, 7], (2, 2), (2, 3), (0, 0, 0, 0), (2, 1))
    # Windows need not reach the border: what no column covers is zero.
    yield fold("fold.rest", uniform(1, 4, 4), [5, 5], (2, 2), (2, 2))


def resizes():
    row, image, volume = uniform(2, 3, 5), uniform(2, 3, 4, 5), uniform(1, 2, 3, 4, 5)

    def resize(name, x, size, **attrs):
        sizes = dict(zip(("out_w", "out_h", "out_d"), reversed(size)))
        method = name.split("_")[0]
        return case(name, {"X": x}, attrs={"interp_method": method, **sizes, **attrs}, grad="X")

    for type, x, size in (
        ("linear", row, [8]),
        ("bilinear", image, [7, 3]),
        ("bicubic", image, [7, 3]),
        ("trilinear", volume, [5, 4, 2]),
    ):
        for end in ("interp", "interp_v2"):
            name = f"{type}_{end}"
            yield resize(name, x, size, align_corners=True)
            yield resize(f"{name}.half", x, size, align_corners=False, align_mode=0)
            yield resize(f"{name}.edges", x, size, align_corners=False, align_mode=1)
            yield resize(f"{name}.one", x, [1] * len(size), align_corners=True)
        shape = x["shape"]
        last = uniform(shape[0], *shape[2:], shape[1])
        yield resize(f"{type}_interp.last", last, size, data_layout="NHWC")
        for n, factor in enumerate((1.5, 0.6)):
            scaled = {"scale": factor, "align_corners": False, "align_mode": n}
            yield resize(f"{type}_interp.scale{n}", x, [], **scaled)
            scaled["scale"] = [factor + 0.25 * axis for axis in range(len(size))]
            yield resize(f"{type}_interp_v2.scale{n}", x, [], **scaled)


def transposed():
    x, w = uniform(2, 4, 3, 4), uniform(4, 1, 3, 2)
    base = {"strides": [2, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 4}
    for name, attrs in (
        ("", {}),
        (".padding", {"paddings": [1, 1], "output_padding": [1, 0]}),
        (".four_paddings", {"paddings": [1, 0, 0, 1], "dilations": [1, 2]}),
        (".size", {"output_size": [8, 5]}),
    ):
        inputs = {"Input": x, "Filter": w}
        name = "depthwise_conv2d_transpose" + name
        yield case(name, inputs, "Output", {**base, **attrs}, grad="Input Filter")


def unpools():
    x = uniform(1, 2, 2, 3)
    places = values([0, 3, 5, 13, 15, 16, 7, 2, 11, 12, 14, 17], 1, 2, 2, 3, dtype="int32")
    pairs = {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0], "unpooling_type": "max"}
    for name, size in (("", [4, 6]), (".odd", [5, 7])):
        attrs = {**pairs, "output_size": size}
        yield case("unpool" + name, {"X": x, "Indices": places}, attrs=attrs, grad="X")
    wide = {**pairs, "ksize": [3, 3], "paddings": [1, 1], "output_size": [3, 5]}
    places = values([0, 3, 5, 13, 14, 12, 7, 2, 11, 12, 14, 1], 1, 2, 2, 3, dtype="int32")
    yield case("unpool.padding", {"X": x, "Indices": places}, attrs=wide, grad="X")


def videos():
    x = uniform(6, 5, 2, 3)
    for name, attrs in (
        ("", {"seg_num": 3}),
        (".most", {"seg_num": 2, "shift_ratio": 0.49}),
        (".still", {"seg_num": 3, "shift_ratio": 0.1}),
        (".one", {"seg_num": 1, "shift_ratio": 0.4}),
    ):
        yield case("temporal_shift" + name, {"X": x}, attrs=attrs, grad="X")
    last = {"seg_num": 3, "shift_ratio": 0.4, "data_format": "NHWC"}
    yield case("temporal_shift.last", {"X": uniform(6, 2, 3, 5)}, attrs=last, grad="X")
    yield case("fsp", {"X": uniform(2, 3, 4, 5), "Y": uniform(2, 2, 4, 5)}, grad="X Y")
    yield case("fsp.point", {"X": uniform(1, 2, 1, 1), "Y": uniform(1, 4, 1, 1)}, grad="X Y")


def margins():
    scores = values([-3, -1.5, -1, 0, 0.5, 1, 2, -2, 0.25, -0.5], 10, 1)
    signs = values([1, 1, 1, 1, 1, 1, 1, 0, 0, 0], 10, 1)
    pair, outputs = {"X": scores, "Y": signs}, "Out -IntermediateVal"
    yield case("modified_huber_loss", pair, outputs, grad="X", seeds="Out")
    pair = {"X": uniform(6, 1, low=-3, high=3), "Y": integers(6, 1, high=2, dtype="float32")}
    yield case("modified_huber_loss.drawn", pair, "Out IntermediateVal", grad="X", seeds="Out")


def cases():
    groups = (convolutions, pools, normalisations, embeddings, losses, metrics, channels)
    for group in (*groups, columns, folds, resizes, transposed, unpools, videos, margins):
        yield from group()
