"""Attributes have the kinds that real Paddle declares: it refuses a program with others."""

import gzip
import json
from pathlib import Path

import paddle
import pytest

core = pytest.importorskip("_flotilla", reason="real Paddle has no definitions of Flotilla's")

RECORDED = Path(__file__).parent / "recorded"
KINDS = {
    **{"bool": "BOOLEAN", "int": "INT", "long": "LONG", "float": "FLOAT", "double": "FLOAT64"},
    **{"string": "STRING", "block": "BLOCK", "var": "VAR", "scalar": "SCALAR"},
    **{"bools": "BOOLEANS", "ints": "INTS", "longs": "LONGS", "floats": "FLOATS"},
    **{"doubles": "FLOAT64S", "strings": "STRINGS", "blocks": "BLOCKS", "scalars": "SCALARS"},
}


def recorded(era):
    data = (RECORDED / f"attrs_{era}.json.gz").read_bytes()
    return json.loads(gzip.decompress(data))


def declared(op, name, releases):
    """What real Paddle declares of an attribute; those of a gradient op are the forward op's."""
    forward = op[: -len("_grad")] if op.endswith("_grad") else op
    found = {release.get(op, release.get(forward, {})).get(name) for release in releases}
    return found - {None}


def test_kinds_are_those_of_paddle():
    releases = [recorded("2x"), recorded("1x")]
    checked, wrong = 0, []
    for op in core.op_types():
        for name, kind in core.op_attr_kinds(op).items():
            kinds = declared(op, name, releases)
            checked += bool(kinds)
            if kinds and kind != "none" and KINDS[kind] not in kinds:
                wrong.append(f"{op}.{name} is {KINDS[kind]}, in Paddle {sorted(kinds)}")
    assert not wrong, "\n".join(wrong)
    assert checked > 1000


def attrs_of(program, type):
    (op,) = [op for op in program.global_block().ops if op.type == type]
    return {name: op.attr(name) for name in op.attr_names}


@pytest.mark.parametrize("word", ["sum", "mean", "max", "min", "prod", "all", "any", "logsumexp"])
def test_a_whole_reduction_names_no_axis(word):
    """2.x folds tensors that have none."""
    paddle.enable_static()
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [3, 4], "bool" if word in ("all", "any") else "float32")
        getattr(paddle, word)(x)
    type, axes = ("logsumexp", "axis") if word == "logsumexp" else (f"reduce_{word}", "dim")
    attrs = attrs_of(main, type)
    assert (attrs[axes], attrs["reduce_all"]) == ([], True)


def test_fluid_reductions_name_the_first_axis():
    """1.8 refuses an empty list."""
    import paddle.fluid as fluid

    for word in ("reduce_sum", "reduce_mean", "reduce_all"):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()):
            x = fluid.data("x", [3, 4], "bool" if word == "reduce_all" else "float32")
            getattr(fluid.layers, word)(x)
        attrs = attrs_of(main, word)
        assert (attrs["dim"], attrs["reduce_all"]) == ([0], True)


@pytest.mark.parametrize("sections", [2, [1, -1]])
def test_split_counts_axes_from_the_first(sections):
    paddle.enable_static()
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        paddle.split(paddle.static.data("x", [3, 4]), sections, axis=-1)
    assert attrs_of(main, "split")["axis"] == 1


def test_slices_count_axes_from_the_first():
    paddle.enable_static()
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        paddle.slice(paddle.static.data("x", [3, 4]), [-1], [0], [2])
    assert attrs_of(main, "slice")["axes"] == [1]


def test_fluid_lars_has_one_decay():
    """A list in 2.x."""
    import paddle.fluid as fluid

    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 4]), 1, bias_attr=False))
        fluid.optimizer.LarsMomentum(0.1, 0.9, lars_weight_decay=0.5).minimize(loss)
    assert attrs_of(main, "lars_momentum")["lars_weight_decay"] == 0.5


def test_fluid_writes_ops_that_paddle_18_has():
    import paddle.fluid as fluid

    known = recorded("1x")
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.data("x", [3, 4])
        x.stop_gradient = False
        losses = [
            fluid.layers.log_softmax(x),
            fluid.layers.smooth_l1(x, x * 2.0),
            fluid.layers.mse_loss(x, x * 2.0),
            fluid.layers.cumsum(x),
            fluid.layers.gru_unit(fluid.layers.fc(x, 6), fluid.layers.fc(x, 2), 6)[0],
        ]
        fluid.gradients([fluid.layers.sum([fluid.layers.reduce_sum(one) for one in losses])], [x])
    types = {op.type for op in main.global_block().ops}
    forward = {name[: -len("_grad")] if name.endswith("_grad") else name for name in types}
    assert forward - known.keys() == set()
    assert "cumsum_grad" not in types  # 1.8 sums from the other end
