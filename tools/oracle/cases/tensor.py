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


def cases():
    for group in (shapes, pieces, constants, updates, sparse_updates, masks, taken, kths):
        yield from group()
