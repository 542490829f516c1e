"""Functions at paddle.* where their arguments are variables, words of other eras, or wrong."""

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle import static


def run(executor, fetch, **feed):
    return executor.run(feed=feed, fetch_list=fetch if isinstance(fetch, list) else [fetch])


def test_shapes_may_hold_variables(executor):
    x = static.data("x", [None, 6])
    rows = paddle.shape(x)[0]
    made = [
        paddle.reshape(x, [rows, 2, 3]),
        paddle.full([rows, 2], 1.5),
        paddle.full(paddle.shape(x), 2, "int64"),
        paddle.expand(paddle.ones([1, 3]), [rows, 3]),
        paddle.uniform([rows, 4], min=2.0, max=3.0),
    ]
    assert made[0].shape == (-1, 2, 3) and made[1].shape == (-1, 2)
    for count in (2, 5):
        found = run(executor, made, x=np.zeros((count, 6), "float32"))
        assert [f.shape for f in found] == [
            *((count, 2, 3), (count, 2), (count, 6), (count, 3), (count, 4)),
        ]
        assert (found[1] == 1.5).all() and (found[2] == 2).all() and (found[4] >= 2).all()


def test_bounds_may_be_variables(executor):
    x, k = static.data("x", [4, 3]), static.data("k", [1], "int32")
    array = np.arange(12, dtype="float32").reshape(4, 3)
    for start in (paddle.full([1], 1, "int32"), k):
        made = paddle.slice(x, [0], [start], [3])
        assert made.shape == (-1, 3)
        found = run(executor, made, x=array, k=np.array([1], "int32"))[0]
        np.testing.assert_array_equal(found, array[1:3])


@pytest.mark.parametrize(
    "now, then",
    [
        (
            lambda x: paddle.sum(x, axis=1, keepdim=True),
            lambda x: paddle.sum(x, dim=1, keep_dim=True),
        ),
        (lambda x: paddle.concat(x=[x, x]), lambda x: paddle.concat(input=[x, x])),
        (lambda x: paddle.unsqueeze(x, axis=0), lambda x: paddle.unsqueeze(x, axes=[0])),
        (lambda x: paddle.topk(x=x, k=1)[0], lambda x: paddle.topk(input=x, k=1)[0]),
        (
            lambda x: paddle.split(x=x, num_or_sections=2)[1],
            lambda x: paddle.split(input=x, num_or_sections=2, dim=0)[1],
        ),
        (lambda x: paddle.assign(x=x), lambda x: paddle.assign(input=x)),
    ],
)
def test_words_of_other_eras(executor, now, then):
    x = static.data("x", [2, 3])
    found = run(executor, [now(x), then(x)], x=np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(*found)


def test_the_same_argument_twice_is_refused():
    x = static.data("x", [2, 3])
    with pytest.raises(TypeError, match="twice"):
        paddle.concat(input=[x], x=[x])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: paddle.mean(x, axsi=1),
        lambda x: F.softmax(x, dim=1),
        lambda x: static.nn.fc(x, 2, activ="relu"),
        lambda x: paddle.nn.Linear(3, 2, bias=False),
        lambda x: paddle.optimizer.SGD(0.1, momentum=0.9),
        lambda x: paddle.fluid.layers.fc(x, 2, actt="relu"),
    ],
)
def test_unknown_words_are_type_errors(call):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        call(static.data("x", [2, 3]))


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda x: paddle.matmul(x, x), "32|shape|axis|extent"),
        (lambda x: paddle.reshape(x, [4, 2]), r"\[4, 2\]"),
        (lambda x: paddle.concat([x, paddle.ones([3, 2])]), "concat|extent"),
        (lambda x: F.cross_entropy(x, x, reduction="men"), "reduction|label"),
        (lambda x: F.l1_loss(x, x, reduction="avg"), "reduction must be"),
        (lambda x: F.dropout(x, mode="up"), "mode must be"),
        (lambda x: paddle.nn.Conv2D(3, 4, 3, groups=2), "cut into 2 groups"),
        (lambda x: static.nn.prelu(x, "some"), "mode must be"),
    ],
)
def test_wrong_values_are_named(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(static.data("x", [2, 3]))


def test_errors_name_the_users_line():
    x = static.data("x", [2, 3])
    with pytest.raises(ValueError) as error:
        paddle.nn.Linear(5, 2)(x)  # the line that is meant
    assert "test_layers_tensor.py" in str(error.value)
    assert "the line that is meant" in str(error.value)


def test_names_that_are_not_there():
    for module, word, near in [
        (paddle, "matmull", "paddle.matmul"),
        (F, "softmaxx", "paddle.nn.functional.softmax"),
        (paddle.nn, "Linearr", "paddle.nn.Linear"),
        (paddle.optimizer, "Adan", "paddle.optimizer.Adam"),
        (paddle.fluid.layers, "fcc", "paddle.fluid.layers.fc"),
        (paddle.fluid.optimizer, "Adamm", "paddle.fluid.optimizer.Adam"),
        (paddle.optimizer.lr, "NoamDecayy", "paddle.optimizer.lr.NoamDecay"),
    ]:
        with pytest.raises(AttributeError, match=f'has no "{word}". Did you mean {near}'):
            getattr(module, word)


def test_names_of_variables():
    x = static.data("x", [2, 3])
    assert F.relu(x, name="mine").name == "mine.tmp_0"
    assert F.relu(x).name == "relu_0.tmp_0"
    assert paddle.mean(x).name == "mean_0.tmp_0"
    assert (x + 1).name == "tmp_0"
    assert x[0].name == "x_slice_0"
    made = paddle.fluid.layers.elementwise_add(x, x, act="relu", name="res2a.add.output.5")
    assert made.name == "res2a.add.output.5.tmp_1"


def test_assign_writes_to_a_variable(executor):
    counter = static.create_global_var([1], 0.0, "float32", persistable=True, name="counter")
    paddle.assign(counter + 1.5, counter)
    executor.run(static.default_startup_program())
    for expected in (1.5, 3.0, 4.5):
        assert run(executor, counter)[0].item() == expected


def test_random_tensors(executor):
    made = [
        paddle.uniform([500], min=2.0, max=4.0),
        paddle.normal(1.0, 2.0, [500]),
        paddle.randint(0, 3, [500]),
        paddle.randperm(50),
        paddle.rand([500]),
        paddle.randn([500]),
    ]
    paddle.seed(3)
    first = run(executor, made)
    paddle.seed(3)
    for again, before in zip(run(executor, made), first):
        np.testing.assert_array_equal(again, before)
    uniform, normal, whole, order, rand, randn = first
    assert uniform.min() >= 2 and uniform.max() < 4 and abs(uniform.mean() - 3) < 0.1
    assert abs(normal.mean() - 1) < 0.4 and abs(normal.std() - 2) < 0.3
    assert set(whole) == {0, 1, 2} and whole.dtype == np.int64
    assert sorted(order) == list(range(50))
    assert rand.min() >= 0 and rand.max() < 1 and abs(randn.std() - 1) < 0.15
