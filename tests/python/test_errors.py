"""Bad input: one sentence with the op, the variable, the user's file and line, expected and found.
The process goes on afterwards."""

import os
import re
import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle import static

ONES = np.ones((2, 3), "float32")
HERE = re.escape(__file__)


@pytest.fixture
def net(executor):
    """y = fc(x), initialised; returns what runs it with a feed, and checks that a good run works."""
    x = static.data("x", [None, 3])
    y = static.nn.fc(x, 2)
    executor.run(static.default_startup_program())

    def run(feed, fetch_list=(y,)):
        return executor.run(feed=feed, fetch_list=fetch_list)

    yield run
    assert run({"x": ONES})[0].shape == (2, 2)


def sentence(error):
    return str(error.value).splitlines()[0]


def notes(error):
    """The lines below the sentence, by label."""
    return dict(line.split(maxsplit=1) for line in str(error.value).splitlines()[1:])


def block():
    return static.default_main_program().global_block()


# ---- running


def test_wrong_shape(net):
    with pytest.raises(ValueError) as error:
        net({"x": np.ones((2, 4), "float32")})
    expected = 'variable "x" is declared with shape [-1, 3], but was fed shape [2, 4]'
    assert str(error.value) == expected


@pytest.mark.parametrize("touch", [paddle.tanh, paddle.mean, paddle.transpose])
def test_sparse_rows_where_an_operator_takes_none(executor, touch):
    ids = static.data("ids", [4, 1], "int64")
    rows = static.nn.embedding(ids, [1000, 8], is_sparse=True)
    ((_, gradient),) = static.append_backward(paddle.mean(rows))
    made = touch(gradient, [1, 0]) if touch is paddle.transpose else touch(gradient)
    executor.run(static.default_startup_program())
    feed = {"ids": np.arange(4).reshape(4, 1)}
    with pytest.raises(ValueError) as error:
        executor.run(feed=feed, fetch_list=[made])
    assert "does not accept sparse rows" in sentence(error)
    assert executor.run(feed=feed, fetch_list=[rows], use_prune=True)[0].shape[-1] == 8


def test_wrong_rank(net):
    with pytest.raises(ValueError) as error:
        net({"x": np.ones(3, "float32")})
    assert sentence(error) == 'variable "x" is declared with shape [-1, 3], but was fed shape [3]'


def test_wrong_dtype(net):
    with pytest.raises(ValueError) as error:
        net({"x": np.ones((2, 3))})
    assert sentence(error) == (
        'variable "x" is declared as float32, but was fed float64: feed an array of float32, e.g. '
        'array.astype("float32")'
    )


def test_missing_feed(net):
    for feed, found in (({}, "nothing"), (None, "nothing")):
        with pytest.raises(ValueError) as error:
            net(feed)
        assert (
            sentence(error)
            == f'variable "x" (shape [-1, 3], float32) must be fed, but the feed holds {found}'
        )
        assert re.match(HERE + r":\d+ in net: y = static.nn.fc\(x, 2\)", notes(error)["from"])
        assert "X=x" in notes(error)["op"] or "Input=x" in notes(error)["op"]


def test_unknown_fetch(net):
    with pytest.raises(RuntimeError) as error:
        net({"x": ONES}, ["fc_0.tmp_11"])
    assert (
        sentence(error) == 'the program has no variable "fc_0.tmp_11". Did you mean "fc_0.tmp_1"?'
    )
    with pytest.raises(ValueError) as error:
        net({"x": ONES}, [3.0])
    assert sentence(error) == "a variable of the program or its name is expected, but 3.0 was given"


def test_uninitialised_parameter(net, executor):
    with static.scope_guard(static.Scope()), pytest.raises(ValueError) as error:
        net({"x": ONES})
    assert re.fullmatch(
        'variable "fc_0.[wb]_0" is read but has no value yet. Run the startup program first',
        sentence(error),
    )
    assert re.match(HERE + r":\d+ in net: ", notes(error)["from"])


@pytest.mark.parametrize(
    "feed, expected",
    [
        ({"x": None}, 'the feed "x" is None, but an array is expected'),
        ({"x": [[1, 2], [3]]}, 'the feed "x" cannot be converted to an array: '),
        ({"x": "abc"}, 'the feed "x" cannot be converted to an array: '),
        ({"x": np.array([["a"]])}, "an array of dtype str32 cannot be a tensor; use float32, "),
        ([{"x": ONES}, {"x": ONES}], "feed must be a dict or a list with one dict, but the list h"),
        (3, "feed must be a dict from names to arrays, but is of type int"),
        ({3: ONES}, "a variable of the program or its name is expected, but 3 was given"),
    ],
)
def test_feeds_that_are_none(net, feed, expected):
    with pytest.raises(ValueError) as error:
        net(feed)
    assert sentence(error).startswith(expected)


def test_what_is_no_program(executor):
    with pytest.raises(TypeError) as error:
        executor.run("main")
    assert str(error.value) == "program must be a paddle.static.Program, but is str"
    with pytest.raises(TypeError) as error, static.program_guard(3):
        pass
    assert str(error.value) == "main_program must be a paddle.static.Program, but is int"


def test_an_op_without_a_kernel_for_the_dtype(executor):
    x = static.data("x", [2], "int8")
    block().append_op("tanh", {"X": x}, {"Out": "y"})
    with pytest.raises(RuntimeError) as error:
        executor.run(feed={"x": np.ones(2, "int8")}, fetch_list=["y"])
    assert sentence(error).startswith(
        "no kernel for tanh on cpu with dtype i8. Its kernels are: cpu f32"
    )
    assert notes(error)["op"].startswith("tanh(X=x) -> y")
    assert re.match(HERE + r":\d+ in test_an_op_without_a_kernel", notes(error)["from"])


# ---- building


@pytest.mark.parametrize(
    "type, inputs, attrs, expected",
    [
        ("softmaxx", "X", {}, 'the op "softmaxx" is not defined. Did you mean "softmax"?'),
        ("softmax", "X", {"axiss": 0}, 'softmax has no attribute "axiss". Did you mean "axis"?'),
        ("softmax", "XX", {}, 'softmax has no input "XX".'),
        (
            "softmax",
            "X",
            {"axis": 2},
            'axis must lie in [-2, 2) because "x" (X) has shape [-1, 3], but axis is 2',
        ),
        (
            "softmax",
            "X",
            {"axis": "a"},
            'attribute "axis" of softmax must be of kind int, but is "a" of kind string',
        ),
    ],
)
def test_ops_that_cannot_be_built(net, type, inputs, attrs, expected):
    before = len(block().ops)
    with pytest.raises((ValueError, RuntimeError)) as error:
        block().append_op(type, {inputs: "x"}, {"Out": "out"}, attrs)
    assert sentence(error) == expected
    assert notes(error)["op"].startswith(f"{type}({inputs}=x) -> out")
    assert re.match(HERE + r":\d+ in test_ops_that_cannot_be_built: ", notes(error)["from"])
    assert len(block().ops) == before and not block().has_var("out")


def test_a_missing_input(net):
    with pytest.raises(ValueError) as error:
        block().append_op("elementwise_add", {"X": "x"}, {"Out": "out"})
    assert sentence(error).startswith('elementwise_add needs the input "Y"')


def test_an_unknown_variable(net):
    with pytest.raises(RuntimeError) as error:
        block().append_op("relu", {"X": "fc_0.tmp_9"}, {"Out": "out"})
    assert sentence(error).startswith('the program has no variable "fc_0.tmp_9"')


def test_what_is_no_variable(net):
    with pytest.raises(ValueError) as error:
        static.nn.fc(3, 2)
    assert sentence(error) == "a variable of the program or its name is expected, but 3 was given"


def test_the_line_of_a_layer_inside_a_function(net):
    def model(x):
        return static.nn.fc(x, 2, num_flatten_dims=7)

    with pytest.raises(ValueError) as error:
        model(block().var("x"))
    assert sentence(error).startswith("num_flatten_dims must lie in [1, 2) because")


def test_declaring_a_name_again(net):
    with pytest.raises(ValueError) as error:
        static.data("x", [None, 4])
    assert sentence(error) == '"x" is f32[-1, 3] already and cannot be declared as f32[-1, 4]'


def test_bad_dtypes_and_attributes():
    with pytest.raises(ValueError, match='"flot32" is not a dtype. Did you mean "float32"?'):
        static.data("x", [1], "flot32")
    with pytest.raises(ValueError, match="an attribute must be a number, a string, a list of them"):
        block().append_op("relu", {"X": static.data("x", [1])}, {"Out": "o"}, {"a": object()})


def test_bytes_that_are_no_program():
    said = "the 5 bytes are not a program: there is no field at byte 2"
    with pytest.raises(ValueError, match=said):
        static.Program.parse_from_string(b"hello")


def test_a_sentence_may_hold_bytes_that_are_no_text():
    program = (
        "import paddle; paddle.enable_static(); ones = paddle.ones([2, 2])\n"
        "paddle.static.Executor().run(fetch_list=[paddle.matmul(ones, ones)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environb, b"FLT_THREADS": b"\xff"},
        capture_output=True,
        text=True,
    )
    sentence = 'ValueError: FLT_THREADS must be a number from 1 to 4096, but is "\\xff"'
    assert done.returncode == 1 and sentence in done.stderr


def test_dynamic_mode_is_refused_in_one_sentence():
    with pytest.raises(RuntimeError, match="Flotilla trains static programs only: build the prog"):
        paddle.disable_static()
    assert not paddle.in_dynamic_mode() and not paddle.fluid.in_dygraph_mode()


@pytest.mark.parametrize("use", [float, int, np.array, lambda v: v.numpy(), lambda v: v.item()])
def test_a_variable_has_no_value_while_the_program_is_built(use):
    x = static.data("x", [2])
    with pytest.raises(TypeError) as error:
        use(x)
    assert str(error.value) == (
        'variable "x" has no value while the program is built; run the program and fetch it: '
        "executor.run(program, fetch_list=[...])"
    )


def test_gradients_are_part_of_a_program():
    with pytest.raises(
        RuntimeError, match='gradients of "x" are appended to the program: call opt'
    ):
        static.data("x", [2]).backward()


def test_enforce_not_met_catches_both_kinds(net):
    for feed, fetch in (({}, ["fc_0.tmp_1"]), ({"x": ONES}, ["unknown"])):
        with pytest.raises(paddle.fluid.core.EnforceNotMet):
            net(feed, fetch)
