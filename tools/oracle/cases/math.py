"""Activations, elementwise arithmetic, comparisons, reductions, matrix products."""

from cases.dsl import case, full, integers, positive, uniform, values


def activations():
    x = uniform(3, 5, low=-3, high=3)
    for name in (
        "relu",
        "tanh",
        "sigmoid",
        "square",
        "abs",
        "exp",
        "softplus",
        "silu",
        "sin",
        "cos",
    ):
        yield case(name, {"X": x}, grad="X")
    for name in ("sqrt", "log", "reciprocal", "rsqrt"):
        yield case(name, {"X": positive(3, 5)}, grad="X")
    for name in ("ceil", "floor", "round", "sign"):
        yield case(name, {"X": x})
    yield case("leaky_relu", {"X": x}, attrs={"alpha": 0.1}, grad="X")
    yield case("leaky_relu.default", {"X": x}, grad="X")
    yield case("gelu", {"X": x}, attrs={"approximate": False}, grad="X")
    yield case("gelu.tanh", {"X": x}, attrs={"approximate": True}, grad="X")
    yield case("relu6", {"X": uniform(4, 5, low=-3, high=9)}, grad="X")
    yield case("hard_swish", {"X": uniform(4, 5, low=-5, high=5)}, grad="X")
    yield case("hard_sigmoid", {"X": uniform(4, 5, low=-5, high=5)}, grad="X")
    yield case("swish", {"X": x}, attrs={"beta": 1.0}, grad="X")
    yield case("elu", {"X": x}, attrs={"alpha": 0.7}, grad="X")
    yield case("pow", {"X": positive(3, 4)}, attrs={"factor": 2.5}, grad="X")
    yield case("logsigmoid", {"X": x}, grad="X")
    yield case("clip", {"X": x}, attrs={"min": -1.5, "max": 0.5}, grad="X")
    yield case("scale", {"X": x}, attrs={"scale": 2.5, "bias": -0.5}, grad="X")
    yield case(
        "scale.before",
        {"X": x},
        attrs={"scale": 2.5, "bias": -0.5, "bias_after_scale": False},
        grad="X",
    )
    yield case("scale.int64", {"X": integers(2, 3)}, attrs={"scale": 3.0}, dtypes={"Out": "int64"})
    yield case("softmax", {"X": x}, grad="X")
    yield case(
        "softmax.axis1", {"X": uniform(2, 4, 3, low=-4, high=4)}, attrs={"axis": 1}, grad="X"
    )
    yield case("softmax.large", {"X": uniform(2, 6, low=900, high=1000)}, grad="X")
    yield case("log_softmax", {"X": x}, attrs={"axis": -1}, grad="X")
    yield case("increment", {"X": full(3, 1)}, attrs={"step": 2.0})
    yield case(
        "increment.int64",
        {"X": full(3, 1, dtype="int64")},
        attrs={"step": 1.0},
        dtypes={"Out": "int64"},
    )


def elementwise():
    x, y = uniform(2, 3, 4), uniform(2, 3, 4)
    for name in ("add", "sub", "mul", "max", "min"):
        yield case(f"elementwise_{name}", {"X": x, "Y": y}, grad="X Y")
    yield case("elementwise_div", {"X": x, "Y": positive(2, 3, 4)}, grad="X Y")
    yield case("elementwise_pow", {"X": positive(3, 4), "Y": positive(3, 4)}, grad="X Y")
    yield case(
        "elementwise_add.bias", {"X": uniform(4, 5), "Y": uniform(5)}, attrs={"axis": 1}, grad="X Y"
    )
    yield case("elementwise_add.middle", {"X": x, "Y": uniform(3)}, attrs={"axis": 1}, grad="X Y")
    yield case("elementwise_add.front", {"X": x, "Y": uniform(2, 3)}, attrs={"axis": 0}, grad="X Y")
    yield case("elementwise_add.ones", {"X": uniform(2, 1, 4), "Y": uniform(1, 3, 1)}, grad="X Y")
    yield case("elementwise_add.scalar", {"X": x, "Y": uniform(1)}, grad="X Y")
    yield case(
        "elementwise_mul.channel",
        {"X": uniform(2, 3, 2, 2), "Y": uniform(3)},
        attrs={"axis": 1},
        grad="X Y",
    )
    yield case("elementwise_mul.trailing", {"X": x, "Y": uniform(3, 4)}, grad="X Y")
    yield case("elementwise_sub.column", {"X": uniform(4, 3), "Y": uniform(4, 1)}, grad="X Y")
    yield case("elementwise_div.row", {"X": uniform(4, 3), "Y": positive(3)}, grad="X Y")
    yield case("elementwise_max.row", {"X": uniform(4, 3), "Y": uniform(3)}, grad="X Y")
    a = {"X": integers(3, 4, low=-20, high=20), "Y": integers(3, 4, low=1, high=7)}
    for name in ("add", "sub", "mul", "mod", "floordiv", "max", "min"):
        yield case(f"elementwise_{name}.int64", a, dtypes={"Out": "int64"})
    yield case("elementwise_mod.float", {"X": uniform(3, 4, low=-5, high=5), "Y": positive(3, 4)})


def comparisons():
    a = {"X": values([1, 2, 3, 4, 5, 6], 2, 3), "Y": values([1, 3, 3, 2, 5, 7], 2, 3)}
    for name in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"):
        yield case(name, a, dtypes={"Out": "bool"})
    yield case(
        "equal.int64",
        {"X": integers(4, low=0, high=3), "Y": integers(4, low=0, high=3)},
        dtypes={"Out": "bool"},
    )
    x = values([True, True, False, False], 4, dtype="bool")
    y = values([True, False, True, False], 4, dtype="bool")
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield case(name, {"X": x, "Y": y}, dtypes={"Out": "bool"})
    yield case("logical_not", {"X": x}, dtypes={"Out": "bool"})


def reductions():
    x = uniform(2, 3, 4)
    for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        yield case(name, {"X": x}, attrs={"dim": [1]}, grad="X")
        yield case(f"{name}.all", {"X": x}, attrs={"dim": [0], "reduce_all": True}, grad="X")
    yield case("reduce_sum.keep", {"X": x}, attrs={"dim": [-1], "keep_dim": True}, grad="X")
    yield case("reduce_mean.two", {"X": x}, attrs={"dim": [0, 2]}, grad="X")
    yield case("reduce_mean.two_keep", {"X": x}, attrs={"dim": [0, 2], "keep_dim": True}, grad="X")
    yield case("reduce_sum.default", {"X": x}, grad="X")
    yield case(
        "reduce_sum.int64", {"X": integers(3, 4)}, attrs={"dim": [1]}, dtypes={"Out": "int64"}
    )
    flags = values([True, False, False, False, False, False], 2, 3, dtype="bool")
    yield case("reduce_any", {"X": flags}, attrs={"dim": [1]}, dtypes={"Out": "bool"})
    yield case("reduce_all", {"X": flags}, attrs={"dim": [0]}, dtypes={"Out": "bool"})
    yield case("mean", {"X": x}, grad="X")
    yield case("sum", {"X": [uniform(2, 3), uniform(2, 3), uniform(2, 3)]}, grad="X")
    yield case("sum.one", {"X": [uniform(2, 3)]}, grad="X")
    yield case("squared_l2_norm", {"X": x}, grad="X")


def products():
    yield case("mul", {"X": uniform(3, 4), "Y": uniform(4, 5)}, grad="X Y")
    yield case(
        "mul.flat",
        {"X": uniform(2, 3, 4), "Y": uniform(12, 5)},
        attrs={"x_num_col_dims": 1, "y_num_col_dims": 1},
        grad="X Y",
    )
    yield case(
        "mul.deep",
        {"X": uniform(2, 3, 4), "Y": uniform(4, 2, 3)},
        attrs={"x_num_col_dims": 2, "y_num_col_dims": 1},
        grad="X Y",
    )
    product = "matmul_v2"
    yield case(product, {"X": uniform(3, 4), "Y": uniform(4, 5)}, grad="X Y")
    yield case(
        f"{product}.trans_x",
        {"X": uniform(4, 3), "Y": uniform(4, 5)},
        attrs={"trans_x": True},
        grad="X Y",
    )
    yield case(
        f"{product}.trans_y",
        {"X": uniform(3, 4), "Y": uniform(5, 4)},
        attrs={"trans_y": True},
        grad="X Y",
    )
    both = {"trans_x": True, "trans_y": True}
    yield case(
        f"{product}.trans_xy", {"X": uniform(4, 3), "Y": uniform(5, 4)}, attrs=both, grad="X Y"
    )
    yield case(f"{product}.batch", {"X": uniform(2, 3, 4), "Y": uniform(2, 4, 5)}, grad="X Y")
    # Forward only: 2.6.2 infers [2, 1, 3, 2] while building, and then refuses the gradient.
    yield case(f"{product}.broadcast", {"X": uniform(2, 1, 3, 4), "Y": uniform(3, 4, 2)})
    yield case(f"{product}.ones", {"X": uniform(2, 3, 3, 4), "Y": uniform(1, 3, 4, 2)}, grad="X Y")
    yield case(f"{product}.shared", {"X": uniform(2, 3, 4), "Y": uniform(4, 5)}, grad="X Y")
    yield case(f"{product}.dot", {"X": uniform(4), "Y": uniform(4)}, grad="X Y")
    yield case(f"{product}.vector", {"X": uniform(2, 3, 4), "Y": uniform(4)}, grad="X Y")
    yield case(f"{product}.row", {"X": uniform(4), "Y": uniform(4, 5)}, grad="X Y")


def ties():
    """Who gets the gradient where elements are equal, or one is no number."""
    x, y = values([1, 1, -2, 4, 2], 5), values([1, 0, 3, 4, -1], 5)
    for type in ("elementwise_fmax", "elementwise_fmin", "elementwise_max", "elementwise_min"):
        yield case(f"{type}.equal", {"X": x, "Y": y}, grad="X Y")
    yield case("elementwise_fmax.row", {"X": uniform(3, 4), "Y": uniform(4)}, grad="X Y")
    equal = values([1, 1, 3, 3, 3, 3, 0, 2, 0], 3, 3)
    for type in ("reduce_amax", "reduce_amin", "reduce_max", "reduce_min"):
        yield case(f"{type}.equal", {"X": equal}, attrs={"dim": [1]}, grad="X")
    yield case("reduce_amax.all", {"X": equal}, attrs={"dim": [], "reduce_all": True}, grad="X")


def distances():
    pair = {"X": uniform(3, 4), "Y": uniform(3, 4)}
    row = {"X": uniform(2, 3, 4), "Y": uniform(4)}
    for name, p in (("none", 0), ("one", 1), ("three", 3), ("most", "inf"), ("least", "-inf")):
        yield case(f"dist.{name}", pair, attrs={"p": float(p)}, grad="X Y")
    yield case("dist.row", row, attrs={"p": 2.0}, grad="X Y")
    yield case("lerp", {**pair, "Weight": uniform(3, 4)}, grad="X Y")
    yield case("lerp.row", {**row, "Weight": uniform(3, 1)}, grad="X Y")
    yield case("mv", {"X": uniform(3, 4), "Vec": uniform(4)}, grad="X Vec")
    yield case("elementwise_heaviside", row, attrs={"axis": -1}, grad="X Y")
    yield case("frobenius_norm", {"X": uniform(2, 3, 4)}, attrs={"dim": [0, 2]}, grad="X")


def angles():
    pair = {"X1": uniform(3, 4), "X2": uniform(3, 4)}
    yield case("atan2", pair, grad="X1 X2")
    doubles = {slot: uniform(5, dtype="float64") for slot in pair}
    yield case("atan2.float64", doubles, grad="X1 X2", dtypes={"Out": "float64"})
    for dtype in ("int32", "int64"):
        whole = {slot: integers(6, low=-4, high=4, dtype=dtype) for slot in pair}
        yield case(f"atan2.{dtype}", whole, dtypes={"Out": "float64"})


def scans():
    x = uniform(2, 4, 3)
    for dim in (0, 1, -1):
        yield case(f"cumprod.dim{dim}", {"X": x}, attrs={"dim": dim}, grad="X")
    zeros = values([1, 0, 3, 4, 2, 0, 0, 5, 0, 2, 3, 4], 3, 4)
    yield case("cumprod.zeros", {"X": zeros}, attrs={"dim": 1}, grad="X")
    yield case("cumprod.int64", {"X": integers(2, 5)}, attrs={"dim": 1}, dtypes={"Out": "int64"})
    yield case("logcumsumexp", {"X": x}, grad="X")
    yield case("logcumsumexp.flatten", {"X": x}, attrs={"flatten": True}, grad="X")
    for name in ("exclusive", "reverse"):
        yield case(f"logcumsumexp.{name}", {"X": x}, attrs={"axis": 1, name: True}, grad="X")
    both = {"axis": 0, "exclusive": True, "reverse": True}
    yield case("logcumsumexp.both", {"X": x}, attrs=both, grad="X")
    large = values([1000, 2000, -3000, 1e4, -1e30, 1e30], 2, 3)
    # Forward only: Paddle's gradient adds logarithms to X, and has no digits left beside 1e30.
    yield case("logcumsumexp.large", {"X": large}, attrs={"axis": 1})


def special():
    signed, above = uniform(3, 5, low=-6, high=6), positive(3, 5)
    for name in ("lgamma", "digamma"):
        yield case(name, {"X": above}, grad="X")
        yield case(f"{name}.negative", {"X": uniform(3, 4, low=-0.9, high=-0.1)}, grad="X")
    yield case("erfinv", {"X": uniform(3, 4, low=-0.95, high=0.95)}, grad="X")
    for name in ("i0", "i0e", "i1", "i1e"):
        yield case(name, {"x": signed}, outputs="out", grad="x")
    largest = values([1, 3, 2, 3, -1, -2, 0, -5], 2, 4)
    for name in ("cummax", "cummin"):
        yield case(
            name,
            {"x": largest},
            attrs={"axis": 1, "dtype": 3},
            outputs="out indices",
            dtypes={"indices": "int64"},
            grad="x",
        )


def bits():
    pair = {"X": integers(6, low=-9, high=9), "Y": integers(6, low=-9, high=9)}
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield case(name, pair, dtypes={"Out": "int64"})
    yield case("bitwise_not", {"X": pair["X"]}, dtypes={"Out": "int64"})


def matrices():
    square = values([3, 1, -0.5, 0.2, -2, 0.7, 1, 0.3, 4], 3, 3)
    yield case("inverse", {"Input": square}, outputs="Output", grad="Input")
    yield case("slogdeterminant", {"Input": square}, grad="Input")
    for n in (-2, 1, 3):
        yield case(f"matrix_power.{n}", {"X": square}, attrs={"n": n}, grad="X")
    yield case("minus", {"X": uniform(2, 3), "Y": uniform(2, 3)}, grad="X Y")
    yield case("l1_norm", {"X": uniform(2, 3)}, grad="X")


def cases():
    groups = (activations, elementwise, comparisons, reductions, products, ties, distances)
    for group in (*groups, angles, scans, special, bits, matrices):
        yield from group()
