"""Saving and loading: inference models of both eras, states, single variables; atomic, and with
one sentence for files that are no good."""

import os
import pickle
import struct

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture
def net(executor):
    """A net with a counter that is no parameter, run once; returns (x, y, counter)."""
    x = static.data("x", [None, 3])
    y = static.nn.fc(static.nn.fc(x, 4, activation="tanh"), 2)
    counter = static.create_global_var([1], 5.0, "float32", persistable=True, name="counter")
    block = static.default_main_program().global_block()
    block.append_op("scale", {"X": counter}, {"Out": counter}, {"scale": 1.0, "bias": 1.0})
    executor.run(static.default_startup_program())
    return x, y, counter


PARAMETERS = ["fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]


def values(names=(*PARAMETERS, "counter")):
    scope = static.global_scope()
    return {name: np.array(scope.find_var(name).get_tensor()).tolist() for name in names}


def scramble(names=(*PARAMETERS, "counter")):
    for name in names:
        tensor = static.global_scope().find_var(name).get_tensor()
        tensor.set(np.full(tensor.shape(), 99, "float32"))


def elsewhere():
    return static.scope_guard(static.Scope())


# ---- inference models


def test_inference_model_of_2_x(executor, net, tmp_path):
    x, y, _ = net
    expected = executor.run(feed={"x": X}, fetch_list=[y])[0].tolist()
    prefix = str(tmp_path / "deep" / "model")
    static.save_inference_model(prefix, [x], [y], executor)
    assert sorted(os.listdir(tmp_path / "deep")) == [
        *("model.manifest", "model.pdiparams", "model.pdmodel"),
    ]
    with elsewhere():
        program, feeds, fetches = static.load_inference_model(prefix, executor)
        assert feeds == ["x"] and [v.name for v in fetches] == [y.name]
        assert not program.global_block().has_var("counter")
        for one in (program, program.clone()):
            (found,) = executor.run(one, feed={"x": X}, fetch_list=fetches)
            assert found.tolist() == expected


def test_another_program_and_a_single_variable(executor, net, tmp_path):
    x, y, _ = net
    program = static.default_main_program()
    with static.program_guard(static.Program()):
        static.save_inference_model(tmp_path / "m", x, y, executor, program=program)
    with elsewhere():
        assert static.load_inference_model(tmp_path / "m", executor)[1] == ["x"]


def test_a_model_without_parameters(executor, tmp_path):
    x = static.data("x", [None, 3])
    static.default_main_program().global_block().append_op(
        "scale", {"X": x}, {"Out": "y"}, {"scale": 2.0}
    )
    static.save_inference_model(
        tmp_path / "m", [x], [static.default_main_program().global_block().var("y")], executor
    )
    assert sorted(os.listdir(tmp_path)) == ["m.manifest", "m.pdmodel"]
    program, _, fetches = static.load_inference_model(tmp_path / "m", executor)
    assert executor.run(program, {"x": X}, fetches)[0].tolist() == (2 * X).tolist()


@pytest.mark.parametrize("params", [None, "weights"])
def test_inference_model_of_1_x(executor, net, tmp_path, params):
    x, y, _ = net
    expected = executor.run(feed={"x": X}, fetch_list=[y])[0].tolist()
    names = fluid.io.save_inference_model(
        str(tmp_path), ["x"], [y], executor, params_filename=params
    )
    assert names == [y.name]
    files = ["__manifest__", "__model__", *(PARAMETERS if params is None else [params])]
    assert sorted(os.listdir(tmp_path)) == sorted(files)
    with elsewhere():
        program, feeds, fetches = fluid.io.load_inference_model(
            str(tmp_path), executor, params_filename=params
        )
        (found,) = executor.run(program, feed={feeds[0]: X}, fetch_list=fetches)
        assert found.tolist() == expected


def test_bytes_of_programs_and_parameters(executor, net, tmp_path):
    x, y, _ = net
    program = static.serialize_program([x], [y])
    params = static.serialize_persistables([x], [y], executor)
    static.save_to_file(str(tmp_path / "m.pdmodel"), program)
    static.save_to_file(str(tmp_path / "m.pdiparams"), params)
    expected = executor.run(feed={"x": X}, fetch_list=[y])[0].tolist()
    with elsewhere():
        again = static.deserialize_program(static.load_from_file(str(tmp_path / "m.pdmodel")))
        static.deserialize_persistables(again, params, executor)
        assert executor.run(again, {"x": X}, [y.name])[0].tolist() == expected
    with elsewhere():
        loaded, _, fetches = static.load_inference_model(tmp_path / "m", executor)
        assert executor.run(loaded, {"x": X}, fetches)[0].tolist() == expected
    with elsewhere():
        loaded, _, fetches = static.load_inference_model(
            None, executor, model_filename=program, params_filename=params
        )
        assert executor.run(loaded, {"x": X}, fetches)[0].tolist() == expected
    normal = static.normalize_program(static.default_main_program(), [x], [y])
    assert normal.desc.serialize_to_string() == program


def test_combined_files_hold_variables_in_the_order_of_their_names(executor, net, tmp_path):
    fluid.io.save_params(executor, str(tmp_path), filename="all")
    data = (tmp_path / "all").read_bytes()
    shapes = []
    while data:  # version:u32 lod:u64 version:u32 size:i32, a message (dtype, extents), elements
        (size,) = struct.unpack_from("<i", data, 16)
        extents = list(data[20 + 3 : 20 + size : 2])
        shapes.append(extents)
        data = data[20 + size + 4 * int(np.prod(extents)) :]
    assert shapes == [[4], [3, 4], [2], [4, 2]]  # fc_0.b_0, fc_0.w_0, fc_1.b_0, fc_1.w_0


# ---- states


def test_save_and_load_a_state(executor, net, tmp_path):
    program, before = static.default_main_program(), values()
    prefix = str(tmp_path / "state" / "m")
    static.save(program, prefix)
    assert sorted(os.listdir(tmp_path / "state")) == [
        *("m.manifest", "m.pdmodel", "m.pdopt", "m.pdparams"),
    ]
    scramble()
    static.load(program, prefix, executor)
    assert values() == before
    scramble()
    static.load(program, prefix + ".pdparams")
    assert values() == before
    assert (
        static.Program.parse_from_string((tmp_path / "state" / "m.pdmodel").read_bytes())
        .global_block()
        .has_var("counter")
    )


def test_a_state_loads_where_the_program_does_not_say_what_its_parameters_are(
    executor, net, tmp_path
):
    """As with programs that Paddle 1.8 serialized."""
    prefix = str(tmp_path / "state")
    static.save(static.default_main_program(), prefix)
    expected = values()
    program = static.Program()
    for name in (*PARAMETERS, "counter"):
        shape = np.shape(expected[name])
        program.global_block().create_var(name=name, shape=shape, persistable=True)
    scramble()
    static.load(program, prefix, executor)
    assert values() == expected


def test_a_folder_without_any_of_the_variables_is_refused(executor, net, tmp_path):
    with pytest.raises(ValueError, match="holds no file of a variable of the program"):
        static.load(static.default_main_program(), str(tmp_path), executor)


def test_files_of_states_are_plain_pickles_that_every_numpy_reads(executor, net, tmp_path):
    static.save(static.default_main_program(), tmp_path / "m")
    data = (tmp_path / "m.pdparams").read_bytes()
    assert data[:2] == b"\x80\x04" and b"numpy.core.multiarray" in data and b"_core" not in data
    state = pickle.loads(data)
    assert list(state) == PARAMETERS
    assert {name: array.tolist() for name, array in state.items()} == values(PARAMETERS)
    fluid.save(static.default_main_program(), str(tmp_path / "old"))
    data = (tmp_path / "old.pdopt").read_bytes()
    assert data[:2] == b"\x80\x02" and b"_core" not in data
    assert pickle.loads(data)["counter"].tolist() == [5]
    fluid.load(static.default_main_program(), str(tmp_path / "old"))


def test_program_state_as_a_dict(executor, net, tmp_path):
    program = static.default_main_program()
    static.save(program, tmp_path / "m")
    state = static.load_program_state(tmp_path / "m")
    assert {name: array.tolist() for name, array in state.items()} == values()
    scramble()
    static.set_program_state(program, state)
    assert values()["counter"] == [5] and values(PARAMETERS) == {
        name: state[name].tolist() for name in PARAMETERS
    }
    fluid.io.save_persistables(executor, str(tmp_path / "vars"), program)
    again = static.load_program_state(str(tmp_path / "vars"))
    assert {name: array.tolist() for name, array in again.items()} == values()


def test_scalars_of_shape_1_and_of_no_shape_are_the_same(net):
    program = static.default_main_program()
    static.set_program_state(program, {"counter": np.array(7, "float32")})
    assert values()["counter"] == [7]


def test_paddle_save_and_load(executor, net, tmp_path):
    program = static.default_main_program()
    path = str(tmp_path / "x.pdparams")
    paddle.save(program.state_dict(), path)
    arrays = paddle.load(path, return_numpy=True)
    assert {name: array.tolist() for name, array in arrays.items()} == values(list(arrays))
    tensors = paddle.load(path)
    assert all(isinstance(tensor, fluid.LoDTensor) for tensor in tensors.values())
    scramble()
    program.set_state_dict(tensors)
    assert values()["counter"] == [5]
    nested = {"epoch": 3, "name": "run", "rates": [0.1, 0.01], "model": {"w": np.ones(2)}}
    paddle.save(nested, path)
    again = paddle.load(path, return_numpy=True)
    assert again["model"].pop("w").tolist() == [1, 1]
    assert again == {"epoch": 3, "name": "run", "rates": [0.1, 0.01], "model": {}}
    paddle.save(program, str(tmp_path / "p.pdmodel"))
    assert paddle.load(str(tmp_path / "p.pdmodel")).global_block().has_var("counter")


def test_states_of_dygraph_layers_load_without_their_names(tmp_path):
    weight = np.ones((2, 2), "float32")
    state = {"weight": ("linear_0.w_0", weight), "StructuredToParameterName@@": {"weight": "w"}}
    (tmp_path / "s").write_bytes(pickle.dumps(state, 4))
    (name,) = found = paddle.load(str(tmp_path / "s"), return_numpy=True)
    assert name == "weight" and found["weight"].tolist() == weight.tolist()


# ---- single variables


@pytest.mark.parametrize("filename", [None, "all"])
def test_save_and_load_persistables(executor, net, tmp_path, filename):
    before = values()
    fluid.io.save_persistables(executor, str(tmp_path), filename=filename)
    files = [*PARAMETERS, "counter"] if filename is None else [filename]
    assert sorted(os.listdir(tmp_path)) == sorted(["__manifest__", *files])
    scramble()
    fluid.io.load_persistables(executor, str(tmp_path), filename=filename)
    assert values() == before


def test_save_params_and_chosen_variables(executor, net, tmp_path):
    main = static.default_main_program()
    fluid.io.save_params(executor, str(tmp_path / "params"), main)
    assert sorted(os.listdir(tmp_path / "params")) == sorted(["__manifest__", *PARAMETERS])
    weight = main.global_block().var("fc_0.w_0")
    fluid.io.save_vars(executor, str(tmp_path / "one"), vars=[weight])
    assert sorted(os.listdir(tmp_path / "one")) == ["__manifest__", "fc_0.w_0"]
    fluid.io.save_vars(executor, str(tmp_path / "some"), predicate=lambda v: ".b_" in v.name)
    assert sorted(os.listdir(tmp_path / "some")) == ["__manifest__", "fc_0.b_0", "fc_1.b_0"]
    before = values()
    scramble()
    fluid.io.load_params(executor, str(tmp_path / "params"))
    assert values(PARAMETERS) == {name: before[name] for name in PARAMETERS}
    assert values()["counter"] == [99]
    fluid.load(main, str(tmp_path / "one"), executor)
    names = {var.name for var in fluid.io.get_program_parameter(main)}
    assert names == set(PARAMETERS)
    assert len(fluid.io.get_program_persistable_vars(main)) == 5


# ---- refusals


def refused(match):
    return pytest.raises((ValueError, RuntimeError), match=match)


def test_nothing_is_written_that_has_no_value(executor, tmp_path):
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2)
    sentence = 'variable "fc_0.[bw]_0" cannot be saved: it has no value. Run the startup program f'
    with refused(sentence):
        fluid.io.save_params(executor, str(tmp_path / "p"))
    with refused(sentence):
        static.save(static.default_main_program(), tmp_path / "s")
    with refused(sentence):
        static.save_inference_model(tmp_path / "m", [x], [y], executor)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("keep", [0, 1, 7, 19, 40, -1])
def test_cut_files_are_refused_and_change_nothing(executor, net, tmp_path, keep):
    x, y, _ = net
    static.save_inference_model(tmp_path / "m", [x], [y], executor)
    static.save(static.default_main_program(), tmp_path / "s")
    for manifest in tmp_path.glob("*.manifest"):
        manifest.unlink()  # as Paddle would have written them
    before = values()
    for file in ("m.pdmodel", "m.pdiparams", "s.pdparams"):
        data = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(data[:keep])
        with refused(f"(?s)not a program.*{file}|needs at least one block.*{file}|{file}[ :]"):
            if file == "s.pdparams":
                static.load(static.default_main_program(), tmp_path / "s")
            else:
                static.load_inference_model(tmp_path / "m", executor)
        (tmp_path / file).write_bytes(data)
    assert values() == before
    static.load(static.default_main_program(), tmp_path / "s")
    static.load_inference_model(tmp_path / "m", executor)


def test_missing_files_are_named(executor, net, tmp_path):
    x, y, _ = net
    with refused(r'reads the file ".*nothing.pdmodel", which does not exist'):
        static.load_inference_model(tmp_path / "nothing", executor)
    with refused("there is no .*nothing.pdparams, no folder .*nothing and no file"):
        static.load(static.default_main_program(), str(tmp_path / "nothing"))
    static.save(static.default_main_program(), tmp_path / "m")
    os.remove(tmp_path / "m.pdopt")
    with refused("m.pdopt"):
        static.load(static.default_main_program(), tmp_path / "m")


def test_a_state_of_another_program_is_refused(executor, net, tmp_path):
    paddle.save({"fc_0.w_0": np.ones((3, 5), "float32")}, str(tmp_path / "m.pdparams"))
    with refused(r'the state holds "fc_0.w_0" as float32\[3, 5\], but the program declares float3'):
        static.load(static.default_main_program(), tmp_path / "m")
    paddle.save({"fc_0.w_0": np.ones((3, 4), "float32")}, str(tmp_path / "m.pdparams"))
    with refused(r'm.pdparams has no value for "fc_0.b_0" and 2 other variables'):
        static.load(static.default_main_program(), tmp_path / "m")


class Evil:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({"w": Evil()}),
        pickle.dumps(Evil(), 2),
        b"cbuiltins\neval\n(S'print(1)'\n(dtR.",
        b"cos\nsystem\n(S'mkdir pwned'\ntR.",
        b"not a pickle",
        b"\x80\x04N.."[:1],
    ],
)
def test_a_state_can_do_nothing_but_hold_values(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil").write_bytes(data)
    with pytest.raises(ValueError, match="evil is not a state saved by Paddle: "):
        paddle.load("evil")
    assert os.listdir(tmp_path) == ["evil"]


def test_arguments_are_checked(executor, net, tmp_path):
    x, y, _ = net
    with pytest.raises(
        ValueError, match='path_prefix must end with the name of a file, but is "a/'
    ):
        static.save_inference_model("a/", [x], [y], executor)
    with pytest.raises(ValueError, match="must be a prefix of file names, but .* is a folder"):
        static.save_inference_model(tmp_path, [x], [y], executor)
    with pytest.raises(
        TypeError, match="feed_vars must be variables of the program, but one is of"
    ):
        static.save_inference_model(tmp_path / "m", [3], [y], executor)
    with pytest.raises(RuntimeError, match='the program has no variable "z"'):
        fluid.io.save_inference_model(str(tmp_path), ["z"], [y], executor)
    with pytest.raises(ValueError, match="protocol must be 2, 3 or 4, but is 5"):
        static.save(static.default_main_program(), tmp_path / "m", protocol=5)
    with pytest.raises(TypeError, match="but one value is of type object"):
        paddle.save({"w": object()}, str(tmp_path / "m"))
    with pytest.raises((ValueError, RuntimeError), match="m.pdparams"):
        static.save(static.default_main_program(), "/proc/m")
    assert os.listdir(tmp_path) == []
