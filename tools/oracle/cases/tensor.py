"""Shapes, copies, constants, and the optimizers' updates."""

from cases.dsl import case, full, integers, op, positive, program, uniform, values

FLOAT32, FLOAT64, INT32, INT64, BOOL = 5, 6, 2, 3, 0


def shapes():
    x = uniform(2, 3, 4)
    yield case("reshape2", {"X": x}, "Out -XShape", {"shape": [6, 4]}, grad="X")
    yield case("reshape2.infer", {"X": x}, "Out -XShape", {"shape": [0, -1]}, grad="X")
    yield case("reshape2.keep", {"X": x}, "Out -XShape", {"shape": [-1, 0, 2]}, grad="X")
    yield case("transpose2", {"X": x}, "Out -XShape", {"axis": [2, 0, 1]}, grad="X")
    yield case("transpose2.matrix", {"X": uniform(3, 5)}, "Out -XShape", {"axis": [1, 0]}, grad="X")
    yield case("unsqueeze2", {"X": x}, "Out -XShape", {"axes": [0, 2]}, grad="X")
    yield case("squeeze2", {"X": uniform(1, 3, 1, 2)}, "Out -XShape", {"axes": [0, 2]}, grad="X")
    yield case("squeeze2.all", {"X": uniform(1, 3, 1, 2)}, "Out -XShape", {"axes": []}, grad="X")
    flat = "flatten_contiguous_range"
    yield case(flat, {"X": x}, "Out -XShape", {"start_axis": 1, "stop_axis": -1}, grad="X")
    yield case("flatten2", {"X": x}, "Out -XShape", {"axis": 2}, grad="X")
    yield case("shape", {"Input": x}, dtypes={"Out": "int32"})
    yield case(
        "concat", {"X": [uniform(2, 3), uniform(2, 1), uniform(2, 4)]}, attrs={"axis": 1}, grad="X"
    )
    yield case("concat.rows", {"X": [uniform(1, 3), uniform(2, 3)]}, attrs={"axis": 0}, grad="X")
    yield case(
        "concat.negative", {"X": [uniform(2, 2, 3), uniform(2, 2, 1)]}, attrs={"axis": -1}, grad="X"
    )
    yield case("stack", {"X": [uniform(2, 3), uniform(2, 3)]}, "Y", {"axis": 1}, grad="X")
    yield case("split", {"X": uniform(2, 6)}, "Out*3", {"num": 3, "axis": 1}, grad="X")
    yield case(
        "split.sections", {"X": uniform(2, 6)}, "Out*2", {"sections": [2, 4], "axis": 1}, grad="X"
    )
    yield case("expand_v2", {"X": uniform(3, 1)}, attrs={"shape": [2, 3, 4]}, grad="X")
    yield case("expand_v2.keep", {"X": uniform(3, 1)}, attrs={"shape": [-1, 4]}, grad="X")
    yield case("tile", {"X": uniform(2, 3)}, attrs={"repeat_times": [2, 2]}, grad="X")


def pieces():
    x = uniform(3, 4, 5)
    one = {"axes": [0], "starts": [1], "ends": [3]}
    yield case("slice", {"Input": x}, attrs=one, grad="Input")
    two = {"axes": [0, 2], "starts": [-2, 1], "ends": [1000, -1]}
    yield case("slice.negative", {"Input": x}, attrs=two, grad="Input")
    first = {"axes": [1], "starts": [2], "ends": [3], "decrease_axis": [1]}
    yield case("slice.decrease", {"Input": x}, attrs=first, grad="Input")
    element = {"axes": [0], "starts": [1], "ends": [2], "decrease_axis": [0]}
    yield case("slice.scalar", {"Input": uniform(4)}, attrs=element, grad="Input")
    yield case(
        "slice.int32", {"Input": integers(4, dtype="int32")}, attrs=element, dtypes={"Out": "int32"}
    )
    strided = {
        "axes": [0, 1],
        "starts": [0, 3],
        "ends": [3, 0],
        "strides": [2, -1],
        "infer_flags": [1, 1],
    }
    yield case("strided_slice", {"Input": x}, attrs=strided, grad="Input")
    rows = values([2, 0, 2], 3, dtype="int64")
    yield case("gather", {"X": uniform(4, 3), "Index": rows}, grad="X")
    yield case(
        "one_hot_v2",
        {"X": values([1, 0, 3], 3, dtype="int64")},
        attrs={"depth": 4, "dtype": FLOAT32},
    )
    mask = values([True, False, True, True, False, False], 2, 3, dtype="bool")
    yield case("where", {"Condition": mask, "X": uniform(2, 3), "Y": uniform(2, 3)}, grad="X Y")


def constants():
    yield case(
        "cast.to_int64",
        {"X": values([1.7, -1.7, 0.0], 3)},
        attrs={"in_dtype": FLOAT32, "out_dtype": INT64},
        dtypes={"Out": "int64"},
    )
    yield case(
        "cast.to_float", {"X": integers(2, 3)}, attrs={"in_dtype": INT64, "out_dtype": FLOAT32}
    )
    yield case(
        "cast.to_bool",
        {"X": values([0.0, 2.0, -1.0], 3)},
        attrs={"in_dtype": FLOAT32, "out_dtype": BOOL},
        dtypes={"Out": "bool"},
    )
    yield case(
        "cast.to_double",
        {"X": uniform(2, 3)},
        attrs={"in_dtype": FLOAT32, "out_dtype": FLOAT64},
        dtypes={"Out": "float64"},
        grad="X",
    )
    yield case("assign", {"X": uniform(2, 3)}, grad="X")
    yield case("fill_constant", {}, attrs={"shape": [2, 3], "value": 1.5, "dtype": FLOAT32})
    yield case(
        "fill_constant.int64",
        {},
        attrs={"shape": [2], "value": 7.0, "dtype": INT64},
        dtypes={"Out": "int64"},
    )
    yield case(
        "fill_constant.text",
        {},
        attrs={"shape": [1], "str_value": "0.1", "dtype": FLOAT64},
        dtypes={"Out": "float64"},
    )
    yield program(
        "fill_constant.shape_tensor",
        {"n": values([3], 1, dtype="int32")},
        [
            op(
                "fill_constant",
                {"ShapeTensorList": ["n", "n"]},
                {"Out": ["out"]},
                {"shape": [-1, -1], "value": 2.0, "dtype": FLOAT32},
            )
        ],
        ["out"],
    )
    yield case("fill_any_like", {"X": uniform(2, 3)}, attrs={"value": 2.5, "dtype": -1})
    yield case("fill_zeros_like", {"X": uniform(2, 3)})
    batch = {"shape": [-1, 5], "value": 3.0, "dtype": FLOAT32}
    yield case("fill_constant_batch_size_like", {"Input": uniform(4, 2)}, attrs=batch)
    numbers = {"shape": [2, 2], "dtype": FLOAT32, "fp32_values": [1.0, 2.0, 3.0, 4.5]}
    yield case("assign_value", {}, attrs=numbers)
    yield case("range", {"Start": full(1, 1), "End": full(9, 1), "Step": full(2, 1)})
    yield case("cumsum", {"X": uniform(2, 4)}, attrs={"axis": 1}, grad="X")


def updates():
    p, g, rate = uniform(3, 4), uniform(3, 4), full(0.1, 1)
    yield case("sgd", {"Param": p, "Grad": g, "LearningRate": rate}, "ParamOut")
    momentum = {"Param": p, "Grad": g, "Velocity": uniform(3, 4), "LearningRate": rate}
    outputs = "ParamOut VelocityOut"
    yield case("momentum", momentum, outputs, {"mu": 0.9})
    yield case("momentum.nesterov", momentum, outputs, {"mu": 0.9, "use_nesterov": True})
    decay = {"mu": 0.9, "regularization_method": "l2_decay", "regularization_coeff": 0.05}
    yield case("momentum.l2", momentum, outputs, decay)
    yield case("momentum.l2_nesterov", momentum, outputs, {**decay, "use_nesterov": True})
    adam = adam_inputs(p, rate, t=3)
    outputs = "ParamOut Moment1Out Moment2Out Beta1PowOut Beta2PowOut"
    yield case("adam", {**adam, "Grad": g}, outputs)
    odd = {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-2}
    yield case("adam.epsilon", {**adam, "Grad": g}, outputs, odd)
    adagrad = {"Param": p, "Grad": g, "Moment": positive(3, 4), "LearningRate": rate}
    yield case("adagrad", adagrad, "ParamOut MomentOut", {"epsilon": 1e-6})


def adam_inputs(param, rate, t):
    shape = param["shape"]
    return {
        "Param": param,
        "LearningRate": rate,
        "Moment1": uniform(*shape),
        "Moment2": positive(*shape),
        "Beta1Pow": full(0.9**t, 1),
        "Beta2Pow": full(0.999**t, 1),
    }


def sparse_update(name, states, attrs):
    """An update by the gradient of an embedding that met row 1 twice and row 3 once."""
    type, slots = name.split(".")[0], {slot: [slot.lower()] for slot in ("Param", *states)}
    inputs = {**slots, "Grad": ["param@GRAD"], "LearningRate": ["rate"]}
    variables = {
        "param": uniform(5, 2),
        "rate": full(0.1, 1),
        "ids": values([1, 1, 3], 3, dtype="int64"),
        **{slot.lower(): array for slot, array in states.items()},
    }
    lookup = {"W": ["param"], "Ids": ["ids"]}
    return program(
        name,
        variables,
        [op("lookup_table_v2", lookup, {"Out": ["out"]}, {"is_sparse": True})],
        ["out", *(names[0] for names in slots.values())],
        after=[op(type, inputs, {slot + "Out": names for slot, names in slots.items()}, attrs)],
        grad=["param"],
        seeds=["out"],
    )


def sparse_updates():
    yield sparse_update("sgd.sparse", {}, {})
    yield sparse_update("momentum.sparse", {"Velocity": uniform(5, 2)}, {"mu": 0.9})
    yield sparse_update("adagrad.sparse", {"Moment": positive(5, 2)}, {"epsilon": 1e-6})


def masks():
    lengths = values([1, 3, 0, 2], 2, 2, dtype="int64")
    floats = {"maxlen": 4, "out_dtype": FLOAT32}
    yield case("sequence_mask", {"X": lengths}, "Y", floats)
    whole = {"maxlen": -1, "out_dtype": INT64}
    yield case("sequence_mask.longest", {"X": lengths}, "Y", whole, dtypes={"Y": "int64"})
    given = {"X": values([1, 3], 2, dtype="int32"), "MaxLenTensor": values([5], 1, dtype="int32")}
    yield case("sequence_mask.tensor", given, "Y", whole, dtypes={"Y": "int64"})


def taken():
    x, index = uniform(3, 4), values([0, 2, 1, 1, 3, 3], 3, 2, dtype="int64")
    along = {"Input": x, "Index": index}
    yield case("take_along_axis", along, "Result", {"Axis": 1}, grad="Input")
    along = {"Input": x, "Index": values([2, 0, 0, 1], 1, 4, dtype="int64")}
    yield case("take_along_axis.first", along, "Result", {"Axis": 0}, grad="Input")


def kths():
    outputs, places = "Out Indices", {"Indices": "int64"}
    x = uniform(2, 3, 4)
    yield case("kthvalue", {"X": x}, outputs, dtypes=places, grad="X")
    for keep in (False, True):
        attrs = {"k": 2, "axis": 1, "keepdim": keep}
        yield case(f"kthvalue.keep{keep}", {"X": x}, outputs, attrs, dtypes=places, grad="X")
    yield case("kthvalue.row", {"X": uniform(5)}, outputs, {"k": 3}, dtypes=places, grad="X")
    whole = {"Out": "int64", "Indices": "int64"}
    numbers = values([5, -2, 7, 0, 3, 9, 8, 1], 2, 4, dtype="int64")
    yield case("kthvalue.int64", {"X": numbers}, outputs, {"k": 2}, dtypes=whole)
    # Whose place it is among equal ones, Paddle leaves to a partial sort.
    equal = values([3, 1, 2, 1, 3, 5, 5, 5, 5, 5], 2, 5)
    for k in (1, 3, 5):
        yield case(f"kthvalue.equal{k}", {"X": equal}, "Out -Indices", {"k": k}, dtypes=places)


def diagonals():
    x = uniform(3, 4, 2)
    for type in ("diagonal", "trace"):
        yield case(type, {"Input": x}, grad="Input")
        # 2.6.2 takes the lower axis of trace for the rows, whichever is named first.
        turned = (0, 2) if type == "trace" else (2, 0)
        for offset, first, second in ((1, 0, 1), (-1, *turned), (2, -2, -1), (-2, 0, 1)):
            attrs = {"offset": offset, "axis1": first, "axis2": second}
            yield case(f"{type}.{offset}_{first}_{second}", {"Input": x}, attrs=attrs, grad="Input")
        yield case(f"{type}.matrix", {"Input": uniform(3, 3)}, attrs={"offset": -1}, grad="Input")
    for name, attrs in (
        ("", {}),
        (".above", {"offset": 2}),
        (".below", {"offset": -1, "dim1": 0, "dim2": 2}),
        (".turned", {"offset": 1, "dim1": 2, "dim2": 1}),
    ):
        yield case("diag_embed" + name, {"Input": uniform(2, 3)}, attrs=attrs)


def indices():
    x, again = uniform(4, 3), values([2, 0, 2], 3, dtype="int64")
    inputs = {"X": x, "Index": again, "AddValue": uniform(3, 3)}
    yield case("index_add", inputs, attrs={"axis": 0}, grad="X AddValue")
    inputs = {**inputs, "Index": values([1, 1], 2, dtype="int32"), "AddValue": uniform(4, 2)}
    yield case("index_add.columns", inputs, attrs={"axis": -1}, grad="X AddValue")
    # Without `multiply`, which Flotilla refuses.
    apart = values([1, 0, 3, 2, 3, 1], 2, 3, dtype="int64")
    equal = values([1, 0, 3, 1, 0, 0], 2, 3, dtype="int64")
    for name, places in (("apart", apart), ("equal", equal)):
        inputs = {"Input": x, "Index": places, "Value": uniform(2, 3)}
        for reduce in ("assign", "add"):
            attrs, grad = {"Axis": 0, "Reduce": reduce}, "Input Value"
            yield case(f"put_along_axis.{reduce}_{name}", inputs, "Result", attrs, grad=grad)
    columns = values([3, 1, 0, 0, 2, 2], 3, 2, dtype="int64")
    inputs = {"Input": uniform(3, 4), "Index": columns, "Value": uniform(3, 2)}
    attrs = {"Axis": 1, "Reduce": "add", "Include_self": False}
    yield case("put_along_axis.others", inputs, "Result", attrs, grad="Input Value")


def runs():
    whole = {"Out": "int64", "Index": "int64", "Counts": "int64"}
    both = {"return_inverse": True, "return_counts": True, "dtype": INT64}
    x = values([1, 1, 2, 2, 2, 3, 1, 1], 8, dtype="int64")
    yield case("unique_consecutive", {"X": x}, "Out Index Counts", both, dtypes=whole)
    floats = {"Index": "int32", "Counts": "int32"}
    for axis, name in ((0, "rows"), (1, "columns"), (-1, "last")):
        y = values([1, 1, 2, 1, 1, 2, 4, 4, 2, 1, 1, 2], 4, 3)
        attrs = {**both, "axis": [axis], "dtype": INT32}
        outputs = "Out Index Counts"
        yield case(f"unique_consecutive.{name}", {"X": y}, outputs, attrs, dtypes=floats)
    places, x = {"Indices": "int64"}, values([2, 1, 2, 3, 3, 1, 5, 4, 6, 0, 0, 0], 3, 4)
    yield case("mode", {"X": x}, "Out Indices", dtypes=places, grad="X")
    for keep in (False, True):
        attrs = {"axis": 0, "keepdim": keep}
        yield case(f"mode.keep{keep}", {"X": x}, "Out Indices", attrs, dtypes=places, grad="X")
    whole = {"Out": "int64", "Indices": "int64"}
    numbers = values([3, 1, 1, 3, 2, -1, -1, 4], 2, 4, dtype="int64")
    yield case("mode.int64", {"X": numbers}, "Out Indices", {"axis": -1}, dtypes=whole)


def counts():
    numbers = values([1, 5, 1, 0, 3, 1], 6, dtype="int64")
    yield case("bincount", {"X": numbers}, dtypes={"Out": "int64"})
    yield case("bincount.least", {"X": numbers}, attrs={"minlength": 9}, dtypes={"Out": "int64"})
    weighed = {"X": values([1, 2, 1, 4], 4, dtype="int32"), "Weights": uniform(4)}
    yield case("bincount.weights", weighed)
    weighed = {**weighed, "Weights": integers(4)}
    yield case("bincount.whole", weighed, dtypes={"Out": "float64"})
    empty = {"X": values([], 0, dtype="int64")}
    yield case("bincount.empty", empty, attrs={"minlength": 3}, dtypes={"Out": "int64"})
    x = values([0, 1, 2, 4, 4, -1, 3.999, 5, 2.5], 3, 3)
    for name, array, attrs in (
        ("", x, {"bins": 4}),
        (".range", x, {"bins": 4, "min": 0, "max": 4}),
        (".equal", full(3, 5), {"bins": 3}),
        (".int64", integers(3, 4), {"bins": 5, "min": 1, "max": 8}),
    ):
        yield case("histogram" + name, {"X": array}, attrs=attrs, dtypes={"Out": "int64"})
    inputs = {"SortedSequence": values([1, 3, 3, 5, 7], 5), "Values": values([0, 3, 8, 5, 4], 5)}
    yield case("searchsorted", inputs, dtypes={"Out": "int64"})
    attrs = {"right": True, "out_int32": True}
    yield case("searchsorted.right", inputs, attrs=attrs, dtypes={"Out": "int32"})
    inputs = {
        "SortedSequence": values([1, 3, 5, 2, 2, 4], 2, 3, dtype="int64"),
        "Values": values([3, 6, 2, 2, 0, 5, 1, 4], 2, 4, dtype="int64"),
    }
    for right in (False, True):
        name = f"searchsorted.rows_right{right}"
        yield case(name, inputs, attrs={"right": right}, dtypes={"Out": "int64"})


def made():
    for offset in (-1, 0, 2):
        size = {"rows": 3, "cols": 4, "offset": offset, "dtype": INT64}
        yield case(f"tril_indices.{offset}", {}, "out", size, dtypes={"out": "int64"})
        size = {"row": 4, "col": 3, "offset": offset, "dtype": INT32}
        yield case(f"triu_indices.{offset}", {}, "out", size, dtypes={"out": "int32"})
    yield case("fill_any", {"X": uniform(2, 3)}, attrs={"value": 2.5}, grad="X")
    whole = {"X": integers(4)}
    yield case("fill_any.int64", whole, attrs={"value": -3.0}, dtypes={"Out": "int64"})
    ends = {"Start": full(-1, 1), "Stop": full(2, 1), "Base": full(10, 1)}
    for count in (1, 2, 7):
        inputs = {**ends, "Num": full(count, 1, dtype="int32")}
        yield case(f"logspace.{count}", inputs, attrs={"dtype": FLOAT32})
    inputs = {**{slot: full(n, 1, dtype="float64") for slot, n in (("Start", 3), ("Stop", 0.5))},
              "Num": full(4, 1, dtype="int32"), "Base": full(2, 1, dtype="float64")}  # fmt: skip
    yield case("logspace.float64", inputs, attrs={"dtype": FLOAT64}, dtypes={"Out": "float64"})
    whole = {
        slot: full(n, 1, dtype="int64") for slot, n in (("Start", 0), ("Stop", 4), ("Base", 2))
    }
    whole["Num"] = full(5, 1, dtype="int32")
    yield case("logspace.int64", whole, attrs={"dtype": INT64}, dtypes={"Out": "int64"})


def partial():
    matrices = {"X": [uniform(3, 5), uniform(3, 5), uniform(3, 5)]}
    for type in ("partial_concat", "partial_sum"):
        yield case(type, matrices, grad="X")
        # From a negative column on, partial_sum of 2.6.2 reads before its inputs.
        starts = ((1, 2), (2, -1), (4, 1), (-3, 2), (-2, -1))[: 3 if type == "partial_sum" else 5]
        for start, length in starts:
            attrs = {"start_index": start, "length": length}
            yield case(f"{type}.{start}_{length}", matrices, attrs=attrs, grad="X")


def repeats():
    x = uniform(2, 3)
    for dim in (0, 1):  # a negative one ends the process of 2.6.2
        attrs = {"Repeats": 3, "dim": dim}
        yield case(f"repeat_interleave.{dim}", {"X": x}, attrs=attrs, grad="X")
    attrs, numbers = {"Repeats": 2, "dim": 0}, {"X": integers(3)}
    yield case("repeat_interleave.int64", numbers, attrs=attrs, dtypes={"Out": "int64"})


def cases():
    groups = (shapes, pieces, constants, updates, sparse_updates, masks, taken, kths)
    for group in (*groups, diagonals, indices, runs, counts, made, partial, repeats):
        yield from group()
