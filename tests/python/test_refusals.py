"""Arguments of wrong types: one sentence with the function, the argument, expected and found."""

import paddle
import paddle.fluid as fluid
import pytest
from paddle import nn, optimizer, static


@pytest.fixture
def x():
    return static.data("x", [2, 3])


CASES = {
    "static.data": (
        lambda x: static.data(3, [1]),
        "data(): name must be a string, but is 3 of type int",
    ),
    "fc": (
        lambda x: static.nn.fc(x, "four"),
        "fc(): size must be a whole number, but is 'four' of type str",
    ),
    "fluid fc": (
        lambda x: fluid.layers.fc(input=x, size=None),
        "fc(): size must be a whole number, but is None",
    ),
    "conv2d": (
        lambda x: static.nn.conv2d(x, 3, "a"),
        "conv2d(): 'str' object cannot be interpreted as an integer",
    ),
    "mean": (lambda x: paddle.mean("x"), "mean(): x must be a Variable, but is 'x' of type str"),
    "sum": (lambda x: paddle.sum(x, axis=1.5), "sum(): 'float' object is not iterable"),
    "embedding": (
        lambda x: static.nn.embedding(x, [3]),
        "embedding(): size must be a list of 2 whole numbers, but is [3] of type list",
    ),
    "ParamAttr": (
        lambda x: paddle.ParamAttr(name=3),
        "ParamAttr(): name must be a string or None, but is 3 of type int",
    ),
    "Constant": (
        lambda x: nn.initializer.Constant("a"),
        "Constant(): value must be a number, but is 'a' of type str",
    ),
    "L2Decay": (
        lambda x: paddle.regularizer.L2Decay("a"),
        "L2Decay(): coeff must be a number, but is 'a' of type str",
    ),
    "Linear": (
        lambda x: nn.Linear("a", 3),
        "Linear(): 'str' object cannot be interpreted as an integer",
    ),
    "NoamDecay": (
        lambda x: optimizer.lr.NoamDecay("a", 3),
        "NoamDecay(): d_model must be a number, but is 'a' of type str",
    ),
    "minimize": (
        lambda x: optimizer.SGD(0.1).minimize(3),
        "minimize(): loss must be a Variable, but is 3 of type int",
    ),
    "weight_decay": (
        lambda x: optimizer.SGD(0.1, weight_decay="a"),
        "weight_decay must be a number or a regularizer, or None, but is of type str",
    ),
    "grad_clip": (
        lambda x: optimizer.SGD(0.1, grad_clip=3),
        "grad_clip must be one of ClipGradByValue, ByNorm, ByGlobalNorm, or None, "
        "but is of type int",
    ),
    "parse_from_string": (
        lambda x: static.Program.parse_from_string(3),
        "parse_from_string(): arg must be bytes, but is 3 of type int",
    ),
    "find_var": (
        lambda x: static.global_scope().find_var(3),
        "find_var(): name must be a string, but is 3 of type int",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sentence(x, name):
    call, sentence = CASES[name]
    with pytest.raises(TypeError) as error:
        call(x)
    assert str(error.value) == sentence


def test_the_other_errors_stay_as_they_are(x):
    with pytest.raises(ValueError, match="an operator takes variables and numbers"):
        x + "a"


def test_signatures_of_python_39_are_read_as_later_ones_are():
    from paddle import _refusals

    old = (
        "a: typing.Optional[list[int]] = None, b: typing.Union[int, tuple[int, int], None], c: str"
    )
    assert _refusals._with_bars(old) == (
        "a: list[int] | None = None, b: int | tuple[int, int] | None, c: str"
    )
