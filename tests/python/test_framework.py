"""Programs, blocks, variables, names and guards, as users of all eras handle them."""

import copy
import pickle

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static
from paddle.utils import unique_name


def net():
    x = static.data("x", [None, 3])
    return x, static.nn.fc(x, 2, activation="relu")


# ---- programs


def test_default_programs_are_those_of_the_guard():
    main, startup = static.Program(), static.Program()
    before = static.default_main_program()
    with static.program_guard(main, startup):
        net()
        assert static.default_main_program() is main
        assert fluid.default_startup_program() is startup
    assert static.default_main_program() is before
    assert [op.type for op in main.global_block().ops] == ["mul", "elementwise_add", "relu"]
    assert len(startup.global_block().ops) == 2


def test_a_guard_with_a_main_program_only_keeps_the_startup_program():
    startup = static.default_startup_program()
    with static.program_guard(main_program=static.Program()):
        assert static.default_startup_program() is startup


def test_program_words():
    net()
    main = static.default_main_program()
    assert main.num_blocks == 1 and len(main.blocks) == 1
    assert main.global_block() is main.block(0) is main.current_block()
    assert [p.name for p in main.all_parameters()] == ["fc_0.w_0", "fc_0.b_0"]
    assert {v.name for v in main.list_vars()} >= {"x", "fc_0.w_0", "fc_0.b_0", "fc_0.tmp_2"}
    assert "relu" in str(main) and "relu" in main.to_string(True)
    assert str(main.global_block()).startswith("var x f32[-1, 3]")
    main.random_seed = 3
    assert main.random_seed == 3 == main.clone().random_seed
    assert copy.deepcopy(main).global_block().has_var("x")


def test_what_is_attached_to_the_default_program_stays():
    static.default_main_program()._mark = "kept"
    assert static.default_main_program()._mark == "kept"


def test_a_clone_for_test_shares_names_and_leaves_out_training():
    x, y = net()
    block = static.default_main_program().global_block()
    block.append_op("dropout", {"X": y}, {"Out": "d", "Mask": "m"}, {"dropout_prob": 0.5})
    block.append_op("mean", {"X": "d"}, {"Out": "loss"})
    static.append_backward(block.var("loss"))
    main = static.default_main_program()
    test = main.clone(for_test=True)
    assert [op.type for op in test.global_block().ops] == [
        *("mul", "elementwise_add", "relu", "dropout", "mean")
    ]
    assert test.global_block().ops[3].attr("is_test") is True
    assert main.global_block().ops[3].attr("is_test") is False
    assert [p.name for p in test.all_parameters()] == ["fc_0.w_0", "fc_0.b_0"]


def test_serialization_is_a_round_trip():
    net()
    main = static.default_main_program()
    data = main.desc.serialize_to_string()
    assert isinstance(data, bytes)
    again = static.Program.parse_from_string(data)
    assert [op.type for op in again.global_block().ops] == ["mul", "elementwise_add", "relu"]
    assert again.global_block().var("x").shape == (-1, 3)
    assert again.desc.serialize_to_string() == data


def test_state_dicts(executor):
    x, y = net()
    main = static.default_main_program()
    executor.run(static.default_startup_program())
    state = main.state_dict()
    assert list(state) == ["fc_0.w_0", "fc_0.b_0"] == list(main.state_dict("param"))
    assert main.state_dict("opt") == {}
    main.set_state_dict({"fc_0.w_0": np.full((3, 2), 2, "float32"), "unknown": np.ones(1)})
    assert np.array(main.state_dict()["fc_0.w_0"]).tolist() == [[2, 2]] * 3
    with pytest.raises(ValueError, match=r'holds "fc_0.b_0" as float32\[3\], but the program decl'):
        main.set_state_dict({"fc_0.b_0": np.ones(3, "float32")})
    with pytest.raises(ValueError, match='mode must be "all", "param" or "opt", but is "?\'?some'):
        main.state_dict("some")


# ---- blocks, operators


def test_building_by_hand():
    main = static.Program()
    block = main.global_block()
    x = block.create_var(name="x", shape=[2, 3], dtype="float32", is_data=True)
    w = block.create_parameter(name="w", shape=[3, 4], dtype="float32")
    out = block.create_var(dtype="float32")
    op = block.append_op(
        type="mul",
        inputs={"X": [x], "Y": w},
        outputs={"Out": [out.name]},
        attrs={"x_num_col_dims": 1, "y_num_col_dims": None},
    )
    assert out.shape == (2, 4) and out.name.startswith("_generated_var_")
    assert op.type == "mul" and op.idx == 0 and op.block is block
    assert op.input("X") == ["x"] == op.input_arg_names[:1] and op.output("Out") == [out.name]
    assert set(op.input_names) == {"X", "Y"} and op.output_names == ["Out"]
    assert op.attr("x_num_col_dims") == 1 and op.has_attr("x_num_col_dims")
    assert op.all_attrs()["x_num_col_dims"] == 1
    op._set_attr("x_num_col_dims", 1)
    assert block.has_var("w") and not block.has_var("v") and block.var("w") is w
    assert set(block.vars) == {"x", "w", out.name}
    assert isinstance(w, fluid.framework.Parameter) and not isinstance(x, fluid.framework.Parameter)
    assert w.persistable and w.trainable and w.optimize_attr == {"learning_rate": 1.0}


def test_a_second_create_var_is_a_second_handle():
    block = static.Program().global_block()
    first = block.create_var(name="v", shape=[1], dtype="float32")
    assert block.create_var(name="v", dtype="float32") is first


def test_inserting_and_removing_ops():
    block = static.default_main_program().global_block()
    x = static.data("x", [2])
    block.append_op("scale", {"X": x}, {"Out": "b"}, {"scale": 2.0})
    block._prepend_op(type="scale", inputs={"X": x}, outputs={"Out": "a"}, attrs={"scale": 1.0})
    block._insert_op(1, type="scale", inputs={"X": "a"}, outputs={"Out": "c"})
    assert [op.output("Out") for op in block.ops] == [["a"], ["c"], ["b"]]
    removed = block.ops[1]
    block._remove_op(1)
    assert [op.output("Out") for op in block.ops] == [["a"], ["b"]]
    assert removed.type == "scale"
    with pytest.raises(ValueError, match="there is no op 7 in a block of 2 ops"):
        block._remove_op(7)


def test_roles_of_ops():
    x = static.data("x", [2])
    main = static.default_main_program()
    block = main.global_block()
    with main._optimized_guard([x]):
        op = block.append_op("scale", {"X": x}, {"Out": "a"})
    assert op.attr("op_role") == 2 and op.attr("op_role_var") == ["x"] and op._is_optimize_op()
    with main._lr_schedule_guard():
        assert block.append_op("scale", {"X": x}, {"Out": "b"}).attr("op_role") == 16
    assert block.append_op("scale", {"X": x}, {"Out": "c"}).attr("op_role") == 0


def test_programs_live_as_long_as_their_parts():
    def make():
        program = static.Program()
        return program.global_block().create_var(name="v", shape=[2], dtype="int64")

    var = make()
    assert var.block.program.global_block().var("v").shape == (2,)


# ---- variables


def test_variable_words():
    x = static.data("x", [None, 3], "float32", lod_level=1)
    assert x.name == "x" and x.shape == (-1, 3) and x.lod_level == 1 and x.ndim == 2
    assert x.stop_gradient and not x.persistable and x.is_data
    assert x.type == fluid.core.VarDesc.VarType.LOD_TENSOR == 7
    assert x.grad_name == "x@GRAD" and x.block is static.default_main_program().global_block()
    x.stop_gradient = False
    x.persistable = True
    assert not x.stop_gradient and x.persistable
    assert "x" in str(x) and str(x) == x.to_string(True)
    assert len({x, x}) == 1


def test_values_of_variables(executor):
    net()
    weight = static.default_main_program().all_parameters()[0]
    with pytest.raises(ValueError, match='the scope has no variable "fc_0.w_0"; run the startup'):
        weight.get_value()
    executor.run(static.default_startup_program())
    weight.set_value(np.full((3, 2), 4, "float32"))
    assert np.array(weight.get_value()).tolist() == [[4, 4]] * 3
    with pytest.raises(ValueError, match=r"has shape \[3, 2\], but the value has shape \[2\]"):
        weight.set_value(np.ones(2, "float32"))


def test_dtypes_equal_their_names_and_numpys_types():
    x = static.data("x", [2], "float32")
    assert x.dtype == paddle.float32 == "float32" and x.dtype == np.float32
    assert x.dtype == np.dtype("float32") and x.dtype == fluid.core.VarDesc.VarType.FP32
    assert x.dtype != "int64" and x.dtype != np.float64 and x.dtype != "nonsense" and x.dtype != 3
    assert str(x.dtype) == repr(x.dtype) == f"{x.dtype}" == "paddle.float32" and int(x.dtype) == 5
    assert np.zeros(2, x.dtype).dtype == np.float32 and x.dtype.name == "float32"
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert {paddle.int64: 1}[static.data("i", [1], np.int64).dtype] == 1
    assert isinstance(x.dtype, paddle.dtype) and paddle.dtype("int32") is paddle.int32
    for given in ("bool", np.bool_, paddle.bool, fluid.core.VarDesc.VarType.BOOL):
        assert static.data(f"b{given}", [1], given).dtype == paddle.bool


@pytest.mark.parametrize(
    "word",
    [
        *("int", int, "long", "i8", "i4", "i2", "i1", "u1", "short", "byte", "ubyte", "intc"),
        *("float", float, "double", "f8", "f4", "f2", "single", "half", "bool_", bool, "longlong"),
    ],
    ids=str,
)
def test_words_for_dtypes_are_numpys(word):
    assert paddle.dtype(word) == np.dtype(word)
    assert static.data("x", [1], word).dtype == np.dtype(word)


def test_numpy_stores_bfloat16_as_uint16():
    assert paddle.dtype("uint16") == paddle.dtype(np.uint16) == paddle.bfloat16


def test_default_dtype():
    assert paddle.get_default_dtype() == "float32"
    paddle.set_default_dtype("float64")
    try:
        assert static.data("x", [1]).dtype == paddle.float64
    finally:
        paddle.set_default_dtype(np.float32)
    with pytest.raises(TypeError, match="the default dtype must be a floating one, but is int64"):
        paddle.set_default_dtype("int64")


# ---- names, scopes of names, devices


def test_unique_names():
    assert [unique_name.generate("fc") for _ in range(2)] == ["fc_0", "fc_1"]
    with unique_name.guard():
        assert unique_name.generate("fc") == "fc_0"
    assert unique_name.generate("fc") == "fc_2"
    with unique_name.guard("A/"):
        assert unique_name.generate("fc") == "A/fc_0"
    before = fluid.unique_name.switch()
    assert unique_name.generate("fc") == "fc_0"
    unique_name.switch(before)
    assert unique_name.generate("fc") == "fc_3"


def test_two_guards_share_the_names_of_parameters():
    names = []
    for _ in range(2):
        with static.program_guard(static.Program()), unique_name.guard():
            net()
            names.append([p.name for p in static.default_main_program().all_parameters()])
    assert names[0] == names[1] == ["fc_0.w_0", "fc_0.b_0"]


def test_name_scopes_count_and_nest():
    x = static.data("x", [2])
    block = static.default_main_program().global_block()

    def scope_of_next_op():
        return block.append_op("scale", {"X": x}, {"Out": "a"}).attr("op_namescope")

    with static.name_scope("a"):
        with static.name_scope("b"):
            assert scope_of_next_op() == "/a/b/"
        assert scope_of_next_op() == "/a/"
    with static.name_scope("a"):
        assert scope_of_next_op() == "/a_1/"
    assert scope_of_next_op() == "/"


def test_device_guards():
    x = static.data("x", [2])
    block = static.default_main_program().global_block()
    with static.device_guard("gpu:1"):
        assert block.append_op("scale", {"X": x}, {"Out": "a"}).attr("op_device") == "gpu:1"
    assert not block.append_op("scale", {"X": x}, {"Out": "a"}).attr("op_device")
    with pytest.raises(ValueError, match="device must be"), static.device_guard("tpu"):
        pass


# ---- parameters


def test_param_attr_in_all_forms():
    x = static.data("x", [None, 3])
    attr = paddle.ParamAttr(
        "w",
        initializer=paddle.nn.initializer.Constant(2.0),
        learning_rate=0.5,
        regularizer=paddle.regularizer.L2Decay(1e-4),
        trainable=False,
        need_clip=False,
    )
    static.nn.fc(x, 2, weight_attr=attr, bias_attr="b")
    block = static.default_main_program().global_block()
    weight = block.var("w")
    assert weight.optimize_attr == {"learning_rate": 0.5} and not weight.trainable
    assert weight.stop_gradient and not weight.need_clip and block.has_var("b")
    static.nn.fc(x, 2, weight_attr=fluid.initializer.Constant(1.0), bias_attr=False)
    assert block.has_var("fc_1.w_0") and not block.has_var("fc_1.b_0")
    assert attr.name == "w" and attr.learning_rate == 0.5 and attr.regularizer.coeff > 0
    assert fluid.ParamAttr._to_attr(False) is False


@pytest.mark.parametrize(
    "initializer, op, attrs",
    [
        (paddle.nn.initializer.Constant(3.0), "fill_constant", {"value": 3.0}),
        (paddle.nn.initializer.Uniform(), "uniform_random", {"min": -1.0, "max": 1.0}),
        (paddle.nn.initializer.Normal(0.5, 2.0), "gaussian_random", {"mean": 0.5, "std": 2.0}),
        (paddle.nn.initializer.TruncatedNormal(), "truncated_gaussian_random", {"std": 1.0}),
        (paddle.nn.initializer.XavierNormal(), "gaussian_random", {"mean": 0.0}),
        (paddle.nn.initializer.KaimingUniform(), "uniform_random", {}),
        (paddle.nn.initializer.Assign(np.arange(12.0)), "assign_value", {}),
        (fluid.initializer.Constant(value=1.0), "fill_constant", {"value": 1.0}),
        (fluid.initializer.Uniform(-2.0, 2.0, seed=3), "uniform_random", {"seed": 3, "max": 2.0}),
        (fluid.initializer.Normal(loc=1.0, scale=2.0), "gaussian_random", {"mean": 1.0}),
        (fluid.initializer.TruncatedNormal(), "truncated_gaussian_random", {}),
        (fluid.initializer.Xavier(uniform=False), "gaussian_random", {}),
        (fluid.initializer.MSRA(), "uniform_random", {}),
        (fluid.initializer.NumpyArrayInitializer(np.ones((3, 4))), "assign_value", {}),
    ],
    ids=lambda value: type(value).__name__ if callable(value) else None,
)
def test_initializers(executor, initializer, op, attrs):
    attr = paddle.ParamAttr("w", initializer=initializer)
    static.create_parameter([3, 4], "float32", attr=attr)
    (made,) = static.default_startup_program().global_block().ops
    assert made.type == op
    assert {name: made.attr(name) for name in attrs} == attrs
    executor.run(static.default_startup_program())
    assert static.global_scope().find_var("w").get_tensor().shape() == [3, 4]


def test_an_array_is_what_the_parameter_starts_with(executor):
    values = np.arange(6, dtype="float32").reshape(2, 3)
    attr = paddle.ParamAttr("w", initializer=paddle.nn.initializer.Assign(values))
    static.create_parameter([2, 3], "float32", attr=attr)
    executor.run(static.default_startup_program())
    assert np.array(static.global_scope().find_var("w").get_tensor()).tolist() == values.tolist()


def test_global_initializers():
    constant = paddle.nn.initializer.Constant
    paddle.nn.initializer.set_global_initializer(constant(3.0), constant(5.0))
    try:
        x = static.data("x", [None, 3])
        static.nn.fc(x, 2)
        static.nn.fc(x, 2, weight_attr=constant(1.0))
    finally:
        paddle.nn.initializer.set_global_initializer(None)
    static.nn.fc(x, 2)
    ops = static.default_startup_program().global_block().ops
    assert [op.attr("value") for op in ops[:4]] == [3.0, 5.0, 1.0, 5.0]
    assert [op.type for op in ops[4:]] == ["uniform_random", "fill_constant"]


def test_create_global_var_and_create_parameter(executor):
    first = static.create_global_var([1], 2.0, "float32", persistable=True, name="total")
    assert static.create_global_var([1], 2.0, "float32", persistable=True, name="total") is first
    assert len(static.default_startup_program().global_block().ops) == 2
    parameter = static.create_parameter([2, 2], "float32", name="p")
    assert parameter.name == "p" and parameter.is_parameter
    assert static.create_parameter([2], "float32", is_bias=True).name == "create_parameter_0.b_0"


def test_gradients():
    x = static.data("x", [None, 3])
    x.stop_gradient = False
    y = static.nn.fc(x, 2)
    (gradient,) = static.gradients([y], [x])
    assert gradient.name == "x@GRAD" and gradient.shape == (-1, 3)
    block = static.default_main_program().global_block()
    block.append_op("mean", {"X": y}, {"Out": "loss"})
    pairs = fluid.backward.append_backward(block.var("loss"))
    assert [p.name for p, _ in pairs] == ["fc_0.w_0", "fc_0.b_0"]
    assert all(isinstance(g, static.Variable) and g.shape == p.shape for p, g in pairs)


def test_guards_around_gradients_change_nothing_in_a_static_program():
    """As in Paddle 2.6.2."""
    x = static.data("x", [2, 3])
    w = static.create_parameter([3, 1], "float32")

    @paddle.no_grad()
    def product(a):
        return paddle.matmul(a, w)

    with paddle.no_grad():
        inside = paddle.matmul(x, w)
    with paddle.set_grad_enabled(False), paddle.enable_grad():
        assert not paddle.matmul(x, w).stop_gradient
    assert not product(x).stop_gradient and not inside.stop_gradient
    assert paddle.is_grad_enabled() is False
