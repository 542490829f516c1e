"""NaN and infinities, and windows that reach beyond an image."""

from cases.dsl import case, integers, op, program, special, uniform, values

NAN, INF = float("nan"), float("inf")

# What a reduction may meet: only one kind, NaN first, NaN last, NaN between the infinities.
ROWS = [
    [1.0, NAN, 2.0, -3.0, 0.5],
    [NAN, 1.0, 2.0, -3.0, 0.5],
    [1.0, 2.0, -3.0, 0.5, NAN],
    [INF, 1.0, 2.0, -3.0, 0.5],
    [1.0, 2.0, -INF, -3.0, 0.5],
    [INF, NAN, -INF, 1.0, 0.0],
    [-INF, 2.0, 1.0, INF, -0.0],
    [NAN, NAN, NAN, NAN, NAN],
    [INF, INF, INF, INF, INF],
    [-INF, -INF, -INF, -INF, -INF],
]


def rows(dtype="float32"):
    return values([number for row in ROWS for number in row], len(ROWS), 5, dtype=dtype)


def finite_rows():
    """The rows without NaN."""
    kept = [row for row in ROWS if NAN not in row]
    return values([number for row in kept for number in row], len(kept), 5)


def activations():
    """All kinds whose results Paddle itself does not spoil with inf * 0 or inf / inf."""
    with_attrs = {
        "brelu": {"t_min": -2.0, "t_max": 3.0},
        "clip": {"min": -1.5, "max": 0.5},
        "elu": {"alpha": 0.7},
        "hard_shrink": {"threshold": 0.5},
        "hard_sigmoid": {"slope": 0.2, "offset": 0.5},
        "hard_swish": {"threshold": 6.0, "scale": 6.0, "offset": 3.0},
        "leaky_relu": {"alpha": 0.1},
        "relu6": {"threshold": 6.0},
        "softplus": {"beta": 1.0, "threshold": 20.0},
        "softshrink": {"lambda": 0.5},
        "thresholded_relu": {"threshold": 1.0},
    }
    for type in [*with_attrs, "relu", "sigmoid", "tanh", "tanh_shrink", "square", "sign"]:
        x, attrs = special(3, 67, low=-8, high=8), with_attrs.get(type, {})
        yield case(f"{type}.special", {"X": x}, attrs=attrs, grad="X")


def softmaxes():
    for dtype in ("float32", "float64"):
        for type in ("softmax", "log_softmax"):
            yield case(f"{type}.special_{dtype}", {"X": rows(dtype)}, attrs={"axis": -1},
                       grad="X", dtypes={"Out": dtype})  # fmt: skip
            yield case(f"{type}.special_axis_{dtype}", {"X": special(4, 3, 5, dtype=dtype)},
                       attrs={"axis": 1}, grad="X", dtypes={"Out": dtype})  # fmt: skip
        name, outputs = "softmax_with_cross_entropy", "Softmax Loss"
        dtypes = {"Softmax": dtype, "Loss": dtype}
        labels = integers(len(ROWS), 1, high=5)
        for numeric_stable in (True, False):
            yield case(f"{name}.special_{dtype}_{int(numeric_stable)}",
                       {"Logits": rows(dtype), "Label": labels}, outputs,
                       {"numeric_stable_mode": numeric_stable}, dtypes=dtypes,
                       grad="Logits", seeds="Loss")  # fmt: skip
        soft = uniform(len(ROWS), 5, low=0, high=1, dtype=dtype)
        yield case(f"{name}.special_soft_{dtype}", {"Logits": rows(dtype), "Label": soft}, outputs,
                   {"soft_label": True}, dtypes=dtypes, grad="Logits", seeds="Loss")  # fmt: skip


def reductions():
    for type in ("reduce_sum", "reduce_mean"):
        for axis in (0, 1):
            yield case(f"{type}.special_{axis}", {"X": rows()}, attrs={"dim": [axis]}, grad="X")
        yield case(f"{type}.special_long", {"X": special(3, 200)}, attrs={"dim": [1]}, grad="X")
    # With NaN, Paddle's largest is the largest of what follows the last NaN.
    for type in ("reduce_max", "reduce_min", "reduce_amax", "reduce_amin"):
        for axis in (0, 1):
            yield case(f"{type}.infinite_{axis}", {"X": finite_rows()}, attrs={"dim": [axis]},
                       grad="X")  # fmt: skip
    x, y = special(3, 67), special(3, 67)
    for type in ("elementwise_max", "elementwise_min", "elementwise_fmax", "elementwise_fmin"):
        yield case(f"{type}.special", {"X": x, "Y": y}, grad="X Y")
        yield case(f"{type}.special_row", {"X": x, "Y": special(67)}, grad="X Y")
    places = {"Indices": "int64"}
    distinct = values([number for row in ROWS[:7] for number in row], 7, 5)
    for flag in (True, False):
        yield case(f"top_k_v2.special_{int(flag)}", {"X": distinct}, "Out Indices",
                   {"k": 3, "largest": flag}, dtypes=places, grad="X")  # fmt: skip
        yield case(f"argsort.special_{int(flag)}", {"X": distinct}, "Out Indices",
                   {"descending": flag}, dtypes=places)  # fmt: skip
    for type in ("arg_max", "arg_min"):
        for axis in (0, 1):
            yield case(f"{type}.special_{axis}", {"X": rows()}, attrs={"axis": axis, "dtype": 3},
                       dtypes={"Out": "int64"})  # fmt: skip


def images():
    """Pooling: single channels, and so many that they are taken side by side."""
    for dtype in ("float32", "float64"):
        for channels in (3, 16):
            for kind in ("max", "avg"):
                attrs = {"pooling_type": kind, "ksize": [3, 2], "strides": [2, 1],
                         "paddings": [1, 1]}  # fmt: skip
                yield case(f"pool2d.special_{kind}_{channels}_{dtype}",
                           {"X": special(2, channels, 7, 6, dtype=dtype)}, attrs=attrs, grad="X",
                           dtypes={"Out": dtype})  # fmt: skip
        x = values([-INF, NAN, -INF, -INF, NAN, 1.0, INF, -INF, 2.0, NAN, NAN, NAN, -INF, -INF,
                    -INF, -INF], 1, 1, 4, 4, dtype=dtype)  # fmt: skip
        for kind in ("max", "avg"):
            yield case(f"pool2d.special_corners_{kind}_{dtype}", {"X": x},
                       attrs={"pooling_type": kind, "ksize": [2, 2], "strides": [2, 2],
                              "paddings": [0, 0]}, grad="X", dtypes={"Out": dtype})  # fmt: skip
            yield case(f"pool2d.special_global_{kind}_{dtype}",
                       {"X": special(3, 5, 4, 3, dtype=dtype)},
                       attrs={"pooling_type": kind, "ksize": [1, 1], "strides": [1, 1],
                              "paddings": [0, 0], "global_pooling": True}, grad="X",
                       dtypes={"Out": dtype})  # fmt: skip
        yield case(f"max_pool2d_with_index.special_{dtype}",
                   {"X": special(2, 3, 6, 6, dtype=dtype)}, "Out -Mask",
                   {"ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0]},
                   dtypes={"Out": dtype, "Mask": "int32"}, grad="X")  # fmt: skip
        yield case(f"maxout.special_{dtype}", {"X": special(2, 6, 3, 3, dtype=dtype)},
                   attrs={"groups": 2, "axis": 1}, grad="X", dtypes={"Out": dtype})  # fmt: skip
    # A convolution leaves its result in blocks of channels.
    base = {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1], "groups": 1}
    for kind in ("max", "avg"):
        yield program(
            f"pool2d.special_after_conv_{kind}",
            {"x": special(1, 3, 9, 9), "w": uniform(16, 3, 3, 3)},
            [
                op("conv2d", {"Input": ["x"], "Filter": ["w"]}, {"Output": ["y"]}, base),
                op("relu", {"X": ["y"]}, {"Out": ["z"]}),
                op("pool2d", {"X": ["z"]}, {"Out": ["out"]},
                   {"pooling_type": kind, "ksize": [2, 2], "strides": [2, 2],
                    "paddings": [0, 0]}),
            ],
            ["out"],
        )  # fmt: skip


def far_borders():
    """Averages that count padding, with windows that reach beyond the padded image."""
    tried = [
        ([3, 3], [2, 2], [0, 0]),
        ([3, 3], [2, 2], [1, 1]),
        ([2, 2], [2, 2], [0, 0]),
        ([3, 2], [3, 2], [1, 0]),
        ([4, 4], [3, 3], [1, 1]),
        ([5, 3], [4, 3], [2, 1]),
        ([2, 3], [3, 3], [0, 1]),
        ([3, 3], [2, 2], [0, 1, 1, 0]),
        ([4, 5], [3, 4], [1, 0, 0, 2]),
    ]
    for i, (size, strides, paddings) in enumerate(tried):
        # A window that lies wholly outside has no mean and no maximum; Paddle gives NaN and -3e38.
        empty = i == 3
        for exclusive in (False, True):
            for ceil in (True, False):
                if empty and ceil and exclusive:
                    continue
                for format, shape in (("NCHW", (2, 3, 8, 7)), ("NHWC", (2, 8, 7, 3))):
                    if format == "NHWC" and (i % 3 or not ceil):
                        continue
                    name = f"pool2d.border_{i}_{'in' if not exclusive else 'ex'}clusive"
                    yield case(f"{name}_{'ceil' if ceil else 'floor'}_{format}",
                               {"X": uniform(*shape)}, grad="X",
                               attrs={"pooling_type": "avg", "ksize": size, "strides": strides,
                                      "paddings": paddings, "exclusive": exclusive,
                                      "ceil_mode": ceil, "data_format": format})  # fmt: skip
        if empty:
            continue
        yield case(f"pool2d.border_{i}_max", {"X": uniform(2, 3, 8, 7)}, grad="X",
                   attrs={"pooling_type": "max", "ksize": size, "strides": strides,
                          "paddings": paddings, "ceil_mode": True})  # fmt: skip


def angles():
    signs = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, INF, -INF, INF, 1.0, NAN, 1.0]
    sides = [0.0, 0.0, -0.0, -0.0, 0.0, -0.0, INF, INF, -INF, INF, 1.0, NAN]
    pair = {"X1": values(signs, 12), "X2": values(sides, 12)}
    yield case("atan2.special", pair, grad="X1 X2")


def scans():
    """Without NaN, which Paddle counts as a number in logcumsumexp."""
    x = values([-INF, -INF, 1.0, INF, 1.0, INF, 1.0, 2.0, -INF, 1.0, -INF, 2.0], 3, 4)
    yield case("logcumsumexp.special", {"X": x}, attrs={"axis": 1}, grad="X")


def kths():
    for k in (1, 2, 3, 4, 5):
        yield case(f"kthvalue.special{k}", {"X": rows()}, "Out -Indices", {"k": k, "axis": 1},
                   dtypes={"Indices": "int64"})  # fmt: skip


def cases():
    for group in (activations, softmaxes, reductions, images, far_borders, angles, scans, kths):
        yield from group()
