"""Programs that somebody bent: each is refused with a sentence that names the fault, or runs."""

import random
import resource
import sys

import numpy as np
import paddle
import pytest
import watched
import wire
from paddle import static

FEED = {"x": np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)}


def small_net(loop=True):
    """A net that trains, with a loop in front of it: its program, its startup program, the loss."""
    h = static.data("x", [None, 3])
    if loop:
        i = paddle.full([1], 0, "int64")
        _, h = static.nn.while_loop(
            lambda i, h: i < 2, lambda i, h: [i + 1, paddle.tanh(h)], [i, h]
        )
        h.stop_gradient = True
    loss = paddle.mean(static.nn.fc(h, 4, activation="relu", name="fc"))
    paddle.optimizer.SGD(0.1).minimize(loss)
    programs = static.default_main_program(), static.default_startup_program()
    return [program.desc.serialize_to_string() for program in programs] + [loss.name]


def run(main, startup, loss):
    executor = static.Executor(paddle.CPUPlace())
    with static.scope_guard(static.Scope()):
        program = static.Program.parse_from_string(main)
        executor.run(static.Program.parse_from_string(startup))
        return executor.run(program, feed=FEED, fetch_list=[loss])[0]


@pytest.fixture
def bent():
    """Runs the program after `bend(global block, program)`; returns the sentence it is refused with."""
    main, startup, loss = small_net()
    assert np.isfinite(run(main, startup, loss))

    def outcome(bend):
        message = wire.parse(main)
        bend(message.all("blocks")[0], message)
        try:
            run(wire.dump(message), startup, loss)
        except (ValueError, RuntimeError) as error:
            return str(error).splitlines()[0]
        return "runs"

    yield outcome
    assert np.isfinite(run(main, startup, loss))  # the process goes on


def op(block, type):
    return next(op for op in block.all("ops") if op.all("type") == [type.encode()])


def slot(op, side, name):
    return next(slot for slot in op.all(side) if slot.all("slot") == [name.encode()])


def var(block, name):
    return next(var for var in block.all("vars") if var.all("name") == [name.encode()])


def test_the_codec_changes_nothing():
    main, _, _ = small_net()
    assert wire.dump(wire.parse(main)) == main


# ---- ops


def test_op_without_type(bent):
    found = bent(lambda block, _: op(block, "relu").drop("type"))
    assert found.endswith(
        f"these fields are missing or have unknown codes: blocks[0].ops[{found[-7]}].type"
    )


def test_op_of_unknown_type(bent):
    assert bent(lambda block, _: op(block, "relu").set("type", b"reluu")) == (
        'the op "reluu" is not defined. Did you mean "relu"?'
    )
    found = bent(lambda block, _: op(block, "relu").set("type", b"\xff\xfe\x00x"))
    assert found.startswith('the op "\\xff\\xfe\\x00x" is not defined.')


def test_op_that_names_an_unknown_variable(bent):
    found = bent(lambda block, _: slot(op(block, "relu"), "inputs", "X").set("vars", b"nothing"))
    assert found == 'the program has no variable "nothing"'


def test_op_without_inputs_or_outputs(bent):
    assert bent(lambda block, _: op(block, "relu").drop("inputs")).startswith(
        'relu needs the input "X"'
    )
    assert bent(lambda block, _: op(block, "reduce_mean").drop("outputs")) == (
        'reduce_mean writes nothing: its output "Out" has no variable'
    )


def test_op_that_reads_its_own_output(bent):
    def bend(block, _):
        relu = op(block, "relu")
        name = slot(relu, "outputs", "Out").all("vars")[0]
        slot(relu, "inputs", "X").set("vars", name)

    assert bent(bend).endswith("is read before any op writes it")


def test_no_ops_and_reversed_ops(bent):
    assert bent(lambda block, _: block.drop("ops")).endswith("is read before any op writes it")
    assert bent(lambda block, _: block.reverse("ops")).endswith("is read before any op writes it")


# ---- variables


@pytest.mark.filterwarnings("ignore:the program has no variable")
def test_no_variables(bent):
    assert bent(lambda block, _: block.drop("vars")).startswith("the program has no variable")


def test_variable_that_stands_there_twice(bent):
    found = bent(lambda block, _: block.add("vars", var(block, "fc.w_0")))
    assert found == "block 0: variable fc.w_0 is declared twice"


def test_parameter_of_another_kind(bent):
    def of(kind):
        return lambda block, _: var(block, "fc.w_0").all("type")[0].set("type", kind)

    assert bent(of(8)) == bent(of(13)) == "runs"  # what stands in the scope counts
    assert bent(of(22)) == "block 0, variable fc.w_0: unknown variable type BF16"


def test_elements_of_no_type(bent):
    def of(name):
        def bend(block, _):
            type = var(block, name).all("type")[0]
            type.all("lod_tensor")[0].all("tensor")[0].set("dtype", 7)

        return bend

    relu = "fc.tmp_2"
    assert bent(of(relu)) == "runs"  # the op decides
    for name in ("fc.w_0", "x"):
        assert bent(of(name)) == (f"block 0, variable {name}: unknown element type LOD_TENSOR")


# ---- blocks and versions


@pytest.mark.parametrize(
    "index, expected",
    [
        (-1, "names block -1, but the program has 2 blocks"),
        (2, "names block 2, but the program has 2 blocks"),
        (2**31 - 1, "names block 2147483647, but the program has 2 blocks"),
        (0, "block 0 runs itself, through the ops of block 0"),
    ],
)
def test_sub_block_that_is_none(bent, index, expected):
    def bend(block, _):
        attrs = op(block, "while").all("attrs")
        next(attr for attr in attrs if attr.all("name") == [b"sub_block"]).set("block", index)

    assert bent(bend).endswith(expected)


@pytest.mark.parametrize("index", [0, 1])
def test_blocks_that_run_each_other(bent, index):
    def bend(block, program):
        attrs = op(block, "while").all("attrs")
        attr = next(attr for attr in attrs if attr.all("name") == [b"sub_block"])
        back = wire.parse(wire.dump(attr), "Attr")
        back.set("block", index)
        program.all("blocks")[1].all("ops")[0].add("attrs", back)

    assert "runs itself, through the ops of block" in bent(bend)


def test_version_from_the_future(bent):
    assert bent(lambda _, program: program.all("version")[0].set("version", 99999999)) == "runs"


# ---- files


def test_folder_in_the_place_of_a_file(executor, tmp_path):
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2)
    executor.run(static.default_startup_program())
    prefix = str(tmp_path / "net")
    static.save_inference_model(prefix, [x], [y], executor)
    parameters = tmp_path / "net.pdiparams"
    parameters.unlink()
    parameters.mkdir()
    with pytest.raises(ValueError, match="net.pdiparams is a directory, not a file"):
        static.load_inference_model(prefix, executor)


def test_truncated_program_names_file_and_position(executor, tmp_path):
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2)
    executor.run(static.default_startup_program())
    prefix = str(tmp_path / "net")
    static.save_inference_model(prefix, [x], [y], executor)
    program = tmp_path / "net.pdmodel"
    program.write_bytes(program.read_bytes()[:200])
    (tmp_path / "net.manifest").unlink()
    with pytest.raises(ValueError) as error:
        static.load_inference_model(prefix, executor)
    first, second = str(error.value).splitlines()
    assert first.startswith("the 200 bytes are not a program: field 1 at byte 0 takes ")
    assert second.endswith("net.pdmodel")


# ---- any damage


def flip_bits(count):
    """What happens to `count` programs with one to four wrong bits; run in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    main, startup, loss = small_net(loop=False)  # a loop with a wrong bit may have no end
    refused = 0
    for seed in range(count):
        dice, data = random.Random(seed), bytearray(main)
        for _ in range(dice.choice([1, 1, 2, 4])):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        try:
            run(bytes(data), startup, loss)
        except (ValueError, RuntimeError, TypeError, MemoryError):
            refused += 1
    print(refused)


def test_wrong_bits_never_crash():
    """Bits in names of attributes and call stacks do no harm; all else is refused."""
    program = f"import sys; sys.path[:0] = {sys.path!r}\n"
    program += "import paddle; paddle.enable_static()\n"
    program += "import test_hostile_programs as t; t.flip_bits(300)"
    done = watched.run([sys.executable, "-W", "ignore", "-c", program], seconds=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 30 < int(done.stdout) < 300
