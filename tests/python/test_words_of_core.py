"""What programs take from ``fluid.core`` and ``fluid.framework``: descs, graphs, roles, parameters."""

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static
from paddle.fluid import core


@pytest.fixture
def trained():
    x = fluid.data("x", [2, 4])
    fluid.data("unused", [2, 4])
    loss = fluid.layers.mean(fluid.layers.fc(x, 3, act="relu"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    return fluid.default_main_program()


# ---- roles


def test_roles(trained):
    maker = core.op_proto_and_checker_maker
    role = maker.OpRole
    numbers = {"Forward": 0, "Backward": 1, "Optimize": 2, "RPC": 4, "Dist": 8, "LRSched": 16}
    assert {name: int(getattr(role, name)) for name in numbers} == numbers and int(role.Loss) == 256
    word, names = maker.kOpRoleAttrName(), maker.kOpRoleVarAttrName()
    assert (word, names) == ("op_role", "op_role_var")
    assert maker.kOpNameScopeAttrName() == "op_namescope"
    assert maker.kOpDeviceAttrName() == "op_device"
    assert maker.kOpCreationCallstackAttrName() == "op_callstack"
    ops = trained.global_block().ops
    roles = [op.attr(word) for op in ops]
    assert roles[0] == role.Forward and roles[-1] == role.Optimize
    assert int(role.Backward) | int(role.Loss) in roles
    assert ops[-1].attr(names)[0] in ("fc_0.w_0", "fc_0.b_0")
    ops[0]._set_attr(word, role.Backward)
    assert ops[0].attr(word) == 1


# ---- descs


def test_the_desc_of_an_operator(trained):
    op = trained.global_block().ops[0]
    desc = op.desc
    assert desc.type() == "mul"
    assert desc.input("X") == ["x"] and desc.input_names() == ["X", "Y"]
    assert desc.input_arg_names() == ["x", "fc_0.w_0"] == sum(desc.inputs().values(), [])
    assert desc.output_arg_names() == op.output_arg_names == desc.outputs()["Out"]
    assert desc.output_names() == ["Out"] and desc.output("Out") == op.output("Out")
    assert desc.has_attr("x_num_col_dims") and desc.attr("x_num_col_dims") == 1
    assert "x_num_col_dims" in desc.attr_names() and desc.attr_type("x_num_col_dims") == 0
    desc._set_attr("x_num_col_dims", 2)
    assert op.attr("x_num_col_dims") == 2
    desc._rename_input("x", b"z")
    assert op.input("X") == ["z"]
    desc.set_input("X", ["x"])
    assert op.input("X") == ["x"]
    assert desc.block().id == 0 and desc == op.desc
    with pytest.raises(AttributeError, match='the desc of an operator has no "typ".'):
        desc.typ()


def test_the_descs_of_blocks_and_variables(trained):
    desc = trained.desc
    block = desc.block(0)
    assert (desc.num_blocks(), block.id, block.parent) == (1, 0, -1)
    assert block.op_size() == len(trained.global_block().ops) and block.op(0).type() == "mul"
    assert block.has_var(b"x") and not block.has_var("y") and block.find_var("y") is None
    var = block.var(b"x")
    assert var == trained.global_block().var("x").desc and var != block.var("unused")
    assert (var.name(), var.shape(), var.dtype()) == ("x", [2, 4], "float32")
    assert (var.lod_level(), var.persistable(), var.is_parameter()) == (0, False, False)
    assert var.type() == core.VarDesc.VarType.LOD_TENSOR and isinstance(var, core.VarDesc)
    var.set_shape([-1, 4])
    var.set_dtype("float64")
    var.set_persistable(True)
    x = trained.global_block().var("x")
    assert x.shape == (-1, 4) and x.dtype == "float64" and x.persistable
    assert "x" in [one.name() for one in block.all_vars()]
    size = block.op_size()
    block._remove_op(size - 2, size)
    assert len(trained.global_block().ops) == size - 2
    assert block.find_var_recursive("x").name() == "x" and block.has_var_recursive("x")


# ---- graphs


def test_a_graph(trained):
    graph = fluid.framework.IrGraph(core.Graph(trained.desc), for_test=False)
    values = [node for node in graph.all_var_nodes() if not node.is_ctrl_var()]
    ops = graph.topology_sort()
    assert [node.name() for node in ops] == [op.type for op in trained.global_block().ops]
    # As 1.8.5 has them: w and b have two values, and updates come after those who read the first.
    names = sorted(node.name() for node in values)
    assert names.count("fc_0.w_0") == names.count("fc_0.b_0") == 2 and "unused" in names
    control = [node for node in graph.all_var_nodes() if node.is_ctrl_var()]
    assert sorted((c.inputs[0].name(), c.outputs[0].name()) for c in control) == [
        ("elementwise_add", "sgd"),
        ("mul", "sgd"),
    ]
    first = next(node for node in values if node.name() == "fc_0.w_0" and not node.inputs)
    assert sorted(node.name() for node in first.outputs) == ["mul", "mul_grad", "sgd"]
    assert first.persistable() and first.shape() == [4, 3] and first.dtype() == "float32"
    assert first.var().name() == "fc_0.w_0" and first.node_type() == core.Node.Type.Variable
    assert ops[0].op().type() == "mul" and ops[0].input("X") == ["x"] and ops[0].is_op()
    assert len(graph.all_persistable_nodes()) == 5
    assert len(graph.all_nodes()) == len(values) + len(control) + len(ops)
    assert not graph.has_circle() and graph.graph_num() == 2  # "unused" is alone
    before = {
        one.name(): {op.name() for op in others}
        for one, others in graph.build_adjacency_list().items()
    }
    assert before["relu"] == {"elementwise_add"} and before["mul"] == set()
    assert graph._find_node_by_name(graph.all_op_nodes(), "relu").name() == "relu"


def test_what_else_a_graph_can_do(trained, tmp_path):
    graph = fluid.framework.IrGraph(core.Graph(trained.desc), for_test=True)
    assert graph.is_test() and len(graph.clone().all_nodes()) == len(graph.all_nodes())
    assert str(graph.to_program()) == str(trained)
    graph.draw(str(tmp_path), "net", marked_nodes=graph.all_op_nodes())
    text = (tmp_path / "net.dot").read_text()
    assert text.startswith("digraph") and 'label="mul", shape=box, color=blue' in text
    with pytest.raises(
        AttributeError, match="create_op_node is not implemented: a graph shows what"
    ):
        graph.create_op_node("relu", {}, {}, {})
    with pytest.raises(AttributeError, match='IrGraph has no "all_node". Did you mean all_nodes'):
        graph.all_node()
    with pytest.raises(TypeError, match="IrGraph takes a core.Graph, but got a Program"):
        fluid.framework.IrGraph(trained)


# ---- programs and parameters


def test_a_parameter_by_its_class(executor):
    block = fluid.default_main_program().global_block()
    made = fluid.framework.Parameter(
        block, [2, 3], "float32", name="w", optimize_attr={"learning_rate": 0.5}, trainable=False
    )
    assert isinstance(made, fluid.framework.Parameter) and made.persistable and not made.trainable
    assert made.shape == (2, 3) and made.optimize_attr == {"learning_rate": 0.5}
    assert made.error_clip is None and made.gradient_clip_attr is None and not made.is_distributed
    assert block.var("w").is_parameter and made in block.all_parameters()
    unnamed = fluid.framework.Parameter(block, shape=[2], dtype="int64")
    assert unnamed.name.startswith("_generated_parameter") and unnamed.dtype == "int64"
    with pytest.raises(ValueError, match="a parameter needs a shape and a dtype"):
        fluid.framework.Parameter(block, None, "float32")
    with pytest.raises(ValueError, match=r"must be known, but are \[-1, 2\]"):
        fluid.framework.Parameter(block, [-1, 2], "float32")


def test_get_var():
    x = fluid.data("x", [2])
    assert fluid.framework._get_var("x") is x
    with pytest.raises(TypeError, match="program must be a paddle.static.Program"):
        fluid.framework._get_var("x", "program")


def test_the_current_block():
    main = fluid.default_main_program()
    assert main.current_block_idx == 0
    main._create_block()
    main._create_block()
    assert main.current_block_idx == 2
    main.current_block_idx = 2
    main.current_block_idx = 0
    assert main.current_block().idx == 0
    with pytest.raises(ValueError, match="only these can become the current one, but .* set to 2"):
        main.current_block_idx = 2


def test_a_program_reads_another(trained):
    data = trained.desc.serialize_to_string()
    assert str(fluid.Program().parse_from_string(data)) == str(trained.parse_from_string(data))


def test_gradients_with_an_optimizer(executor):
    x = static.data("x", [2, 4])
    loss = paddle.mean(static.nn.fc(x, 3))
    find = paddle.base.backward.gradients_with_optimizer
    ops, pairs = find(static.default_main_program(), paddle.optimizer.SGD(0.5))
    assert [op.type for op in ops] == ["sgd"] * 2
    assert [p.name for p, _ in pairs] == ["fc_0.w_0", "fc_0.b_0"]
    executor.run(static.default_startup_program())
    fed = {"x": np.ones((2, 4), "float32")}
    before, after = (executor.run(feed=fed, fetch_list=[loss])[0].item() for _ in range(2))
    assert after == pytest.approx(before - 0.5 * 5 / 3, rel=1e-5)


def test_a_seed_for_all_programs():
    main = fluid.default_main_program()
    try:
        main.global_seed(102)
        assert main.random_seed == 102
        with static.program_guard(static.Program()):
            assert static.default_main_program().random_seed == 102
        assert static.default_startup_program().random_seed == 0  # it was there before
    finally:
        main.global_seed()
    with static.program_guard(static.Program()):
        assert static.default_main_program().random_seed == 0


def test_names_of_a_generator():
    names = fluid.unique_name.UniqueNameGenerator("net_")
    assert [names("w"), names("w"), names("b")] == ["net_w_0", "net_w_1", "net_b_0"]
    outside = fluid.unique_name.generate("w")
    with fluid.unique_name.guard(names):
        assert fluid.unique_name.generate("w") == "net_w_2" and names("w") == "net_w_3"
    assert names("w") == "net_w_4"
    before = fluid.unique_name.switch(names)
    assert fluid.unique_name.generate_with_ignorable_key("b") == "net_b_1"
    assert fluid.unique_name.switch(before) is names
    assert fluid.unique_name.generate("w") != outside
    assert names("b") == "net_b_2"


# ---- values before the startup program


def test_a_value_before_the_startup_program(executor):
    layer = paddle.nn.Linear(2, 3)
    layer.weight.set_value(np.arange(6, dtype="float32").reshape(2, 3))
    with pytest.raises(ValueError, match=r"has shape \[3\], but the value has shape \[2\]"):
        layer.bias.set_value(np.ones(2, "float32"))
    x = static.data("x", [1, 2])
    out = layer(x)
    executor.run(static.default_startup_program())
    found = executor.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[out])[0]
    assert found.tolist() == [[3, 5, 7]]
    layer.weight.set_value(np.zeros((2, 3), "float32"))
    found = executor.run(feed={"x": np.ones((1, 2), "float32")}, fetch_list=[out])[0]
    assert found.tolist() == [[0, 0, 0]]
    with pytest.raises(ValueError, match='the scope has no variable "x"'):
        x.set_value(np.ones((1, 2), "float32"))


# ---- arithmetic of two kinds of numbers


@pytest.mark.parametrize(
    "left, right, expected, result",
    [
        # From 2.6.2: the right one becomes what the left one is; doubles win over floats.
        ("int64", "float32", [3, 4], "int64"),
        ("float32", "int64", [3, 4], "float32"),
        ("float32", "float64", [3.5, 4.5], "float64"),
        ("int32", "int64", [3, 4], "int32"),
        ("float64", "int32", [3, 4], "float64"),
    ],
)
def test_sums_of_different_kinds(executor, left, right, expected, result):
    x, y = fluid.data("x", [2], left), fluid.data("y", [2], right)
    out, share = x + y, x / y
    fed = {"x": np.array([1, 3], left), "y": np.array([2.5, 1.5]).astype(right)}
    found, divided = executor.run(feed=fed, fetch_list=[out, share])
    assert found.dtype == result and found.tolist() == expected
    assert divided.dtype == (result if "float" in result else "float32")
