"""Programs and data sets as messages: ``framework_pb2``, ``data_feed_pb2`` and their text."""

import random
import re
from pathlib import Path

import paddle
import paddle.fluid as fluid
import pytest
from paddle.base import message_text
from paddle.fluid.proto import data_feed_pb2, framework_pb2

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def program():
    x = fluid.data("x", [-1, 4], lod_level=1)
    loss = fluid.layers.mean(fluid.layers.fc(x, 3, act="relu"))
    fluid.optimizer.Adam(0.1).minimize(loss)
    return fluid.default_main_program()


def test_the_definitions_are_those_of_the_core():
    """What flotilla/ir/framework.proto says, in its words; texts are bytes there."""
    theirs = (ROOT / "flotilla" / "ir" / "framework.proto").read_text()
    ours = (ROOT / "python" / "paddle" / "base" / "proto" / "framework_pb2.py").read_text()

    def fields(text):
        text = re.sub(r"//.*", "", text).replace("bytes", "string")
        return re.findall(r"(?:\b(?:required|optional|repeated) \w+ )?\b\w+ = \d+", text)

    assert fields(theirs) == fields(ours)


def test_a_program_read(program):
    message = framework_pb2.ProgramDesc()
    data = program.desc.serialize_to_string()
    assert message.ParseFromString(data) == len(data)
    block = message.blocks[0]
    assert [op.type for op in block.ops] == [op.type for op in program.global_block().ops]
    var = next(var for var in block.vars if var.name == "x")
    assert var.type.type == framework_pb2.VarType.LOD_TENSOR == 7
    tensor = var.type.lod_tensor
    assert list(tensor.tensor.dims) == [-1, 4] and tensor.lod_level == 1
    assert tensor.tensor.data_type == framework_pb2.VarType.FP32 == framework_pb2.VarType.Type.FP32
    assert framework_pb2.VarType.Type.Name(tensor.tensor.data_type) == "FP32"
    assert framework_pb2.AttrType.Value("INTS") == framework_pb2.INTS == 3
    mul = block.ops[0]
    assert {one.parameter: list(one.arguments) for one in mul.inputs}["X"] == ["x"]
    again = fluid.Program.parse_from_string(message.SerializeToString())
    assert str(again) == str(fluid.Program.parse_from_string(data))
    assert block.ops[0] == framework_pb2.OpDesc.FromString(
        program.global_block().ops[0].desc.serialize_to_string()
    )


def test_a_program_written():
    message = framework_pb2.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name in ("x", "y"):
        var = block.vars.add()
        var.name, var.type.type = name, framework_pb2.VarType.LOD_TENSOR
        var.type.lod_tensor.tensor.data_type = framework_pb2.VarType.FP32
        var.type.lod_tensor.tensor.dims.extend([2, -1])
    op = block.ops.add(type="scale")
    op.inputs.add(parameter="X", arguments=["x"])
    op.outputs.add(parameter="Out").arguments.append("y")
    op.attrs.add(name="scale", type=framework_pb2.FLOAT, f=2.5)
    program = fluid.Program.parse_from_string(message.SerializeToString())
    made = program.global_block()
    assert made.ops[0].attr("scale") == 2.5 and made.var("y").shape == (2, -1)


def test_fields():
    var = framework_pb2.VarDesc()
    assert not var.HasField("type") and var.type.lod_tensor.lod_level == 0
    assert not var.HasField("type") and not var.IsInitialized()
    with pytest.raises(ValueError, match="VarDesc lacks name, type"):
        var.SerializeToString()
    var.type.lod_tensor.lod_level = 2
    assert var.HasField("type") and var.type.HasField("lod_tensor")
    copy = framework_pb2.VarDesc()
    copy.CopyFrom(var)
    assert copy == var and copy is not var
    copy.type.lod_tensor.lod_level = 3
    assert copy != var
    copy.ClearField("type")
    assert not copy.HasField("type") and copy.ListFields() == []
    with pytest.raises(AttributeError, match="VarDesc has no field 'nam'"):
        var.nam = "x"
    with pytest.raises(TypeError, match="VarDesc.name must be a string, but is 3"):
        var.name = 3
    with pytest.raises(ValueError, match="has no value 'FP31'"):
        framework_pb2.VarType.Type.Value("FP31")


def test_bytes_of_other_versions():
    """Fields that are not known are kept; numbers may be packed."""
    data = b"\x0a\x01x\x12\x02\x08\x07\x78\x05"
    var = framework_pb2.VarDesc.FromString(data)
    assert var.name == "x" and var.SerializeToString() == data
    tensor = framework_pb2.VarType.TensorDesc.FromString(b"\x08\x05\x12\x03\x02\xac\x02")
    assert list(tensor.dims) == [2, 300]


def test_damaged_bytes(program):
    data = program.desc.serialize_to_string()
    chance = random.Random(5)
    for _ in range(300):
        bent = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            bent[chance.randrange(len(bent))] = chance.randrange(256)
        try:
            framework_pb2.ProgramDesc.FromString(bytes(bent[: chance.randrange(len(bent))]))
        except ValueError:
            continue


def test_text(program):
    message = framework_pb2.ProgramDesc.FromString(program.desc.serialize_to_string())
    text = str(message)
    assert 'parameter: "X"' in text and "type: LOD_TENSOR" in text
    again = message_text.merge(text, framework_pb2.ProgramDesc())
    assert again == message and again.SerializeToString() == message.SerializeToString()


def test_values_in_text():
    slot = data_feed_pb2.Slot(name='a "b"\n\\ä', type="uint64", is_used=True, shape=[-1, 2])
    assert message_text.merge(str(slot), data_feed_pb2.Slot()) == slot
    read = message_text.merge(
        '# a slot\nname: \'a\' "b" type:"float" shape: [1, 2], is_dense: true;',
        data_feed_pb2.Slot(),
    )
    assert (read.name, list(read.shape), read.is_dense) == ("ab", [1, 2], True)
    for text, said in {
        "nam: 'x'": "Slot has no field 'nam'",
        "name: x": "name must stand in quotes, but is x",
        "is_used: 2": "is_used must be true or false, but is 2",
        "shape: x": "shape must be a number, but is x",
        "name": "the text ends before the value of name",
        "name: 'x": "this is no text of a message",
    }.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            message_text.merge(text, data_feed_pb2.Slot())
    with pytest.raises(ValueError, match="the text ends within MultiSlotDesc"):
        message_text.merge("multi_slot_desc { slots { name: 'x' }", data_feed_pb2.DataFeedDesc())


TEXT = """
name: "MultiSlotDataFeed"
batch_size: 2
multi_slot_desc {
    slots { name: "words" type: "uint64" is_dense: false is_used: false }
    slots { name: "label" type: "uint64" is_dense: false is_used: false }
}
"""


def test_descriptions_of_data_sets(tmp_path):
    path = tmp_path / "data.proto"
    path.write_text(TEXT)
    feed = fluid.DataFeedDesc(str(path))
    feed.set_batch_size(128)
    feed.set_dense_slots(["label"])
    feed.set_use_slots(["words", "label"])
    assert feed.desc() == (
        'name: "MultiSlotDataFeed"\nbatch_size: 128\nmulti_slot_desc {\n'
        '  slots {\n    name: "words"\n    type: "uint64"\n    is_dense: false\n    is_used: true\n  }\n'
        '  slots {\n    name: "label"\n    type: "uint64"\n    is_dense: true\n    is_used: true\n  }\n'
        '}\npipe_command: "cat"\n'
    )
    assert fluid.data_feed_desc.DataFeedDesc is fluid.DataFeedDesc
    with pytest.raises(ValueError, match='there is no slot "wd": the slots are words, label'):
        feed.set_use_slots(["wd"])
    path.write_text('name: "Other"')
    with pytest.raises(ValueError, match="set_dense_slots needs a description of the name"):
        fluid.DataFeedDesc(str(path)).set_dense_slots(["words"])


def test_programs_in_files(program, tmp_path, monkeypatch):
    utils = fluid.incubate.fleet.utils.utils
    monkeypatch.chdir(tmp_path)
    utils.save_program(program, "net")
    utils.save_program(program, "net.txt", is_text=True)
    assert (tmp_path / "net.txt").read_text().startswith("blocks {\n  idx: 0\n  parent_idx: -1\n")
    assert str(utils.load_program("net")) == str(utils.load_program("net.txt", is_text=True))
    assert utils.program_type_trans(".", "net", False) == "net.pbtxt"
    assert utils.program_type_trans(".", "net.pbtxt", True) == "net.pbtxt.bin"
    assert (tmp_path / "net.pbtxt.bin").read_bytes() == (tmp_path / "net").read_bytes()
    utils.parse_program(program, ".")
    assert "fc_0.w_0: paddle.float32 of [4, 3]" in (tmp_path / "vars_persistable.log").read_text()
    assert "mul: inputs {'X': ['x']" in (tmp_path / "ops.log").read_text()
    utils.graphviz(program.global_block(), filename="graph")
    assert (tmp_path / "graph.dot").exists()
    assert utils.check_pruned_program_vars(program, program.clone(for_test=True))
    pruned = program.clone()
    pruned.global_block().var("fc_0.b_0").desc.set_shape([4])
    assert not utils.check_pruned_program_vars(program, pruned)


def test_a_saved_model_is_tried(executor, tmp_path):
    utils = fluid.incubate.fleet.utils.utils
    x = fluid.data("x", [-1, 4])
    out = fluid.layers.fc(x, 3)
    executor.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["x"], [out], executor)

    class Feed:
        feeded_vars_names, feeded_vars_dims = ["x"], [[4]]
        feeded_vars_types, feeded_vars_filelist = ["float32"], None

    class Fetch:
        fetch_vars_names = None

    found = utils.check_saved_vars_try_dump(str(tmp_path), "__model__", False, Feed, Fetch, 2)
    assert found[0].shape == (2, 3)
    Feed.feeded_vars_filelist = [str(tmp_path / "numbers")]
    (tmp_path / "numbers").write_text("1 2 3 4 5 6 7 8\n")
    found = utils.check_saved_vars_try_dump(str(tmp_path), "__model__", False, Feed, Fetch, 2)
    assert found[0].shape == (2, 3)
    Feed.feeded_vars_dims = [[5]]
    with pytest.raises(RuntimeError, match='"x" has shape .* but the config says'):
        utils.check_saved_vars_try_dump(str(tmp_path), "__model__", False, Feed, Fetch, 2)
    assert paddle.static.global_scope().find_var("fc_0.w_0") is not None
