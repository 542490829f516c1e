"""Modules and names that public programs import, beside layers and optimizers."""

import io

import numpy as np
import paddle
import paddle.fluid as fluid
import pytest
from paddle import static


def parameter(name):
    return np.array(static.global_scope().find_var(name).get_tensor())


def squares(x, size=1, bias_attr=False):
    """The mean square of a layer whose weight "w" starts at one half."""
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    return fluid.layers.mean(
        fluid.layers.square(fluid.layers.fc(x, size, param_attr=w, bias_attr=bias_attr))
    )


# ---- programs as text


@pytest.fixture
def program():
    x = fluid.data("x", [2, 4])
    fluid.layers.relu(fluid.layers.scale(x, 2.0))
    return fluid.default_main_program()


def test_program_utils(program):
    from paddle.fluid.transpiler.details import program_utils

    block = program.global_block()
    scaled = block.ops[0].output("Out")[0]
    assert program_utils.find_op_by_input_arg(block, scaled) == 1
    assert program_utils.find_op_by_output_arg(block, scaled) == 0
    assert program_utils.find_op_by_output_arg(block, scaled, reverse=True) == 0
    assert program_utils.find_op_by_input_arg(block, "nobody") == -1
    text = io.StringIO()
    program_utils.program_to_code(program, text)
    program_utils.block_to_code(block, 0, text)
    assert text.getvalue().count("\nrelu(") == 2
    assert program_utils.op_to_code(block.ops[1]).startswith("relu(")
    assert "x" in program_utils.variable_to_code(block.var("x"))
    program_utils.delete_ops(block, [block.ops[0]])
    assert [op.type for op in block.ops] == ["relu"]


def test_debugger(program, tmp_path, capsys):
    fluid.debugger.pprint_program_codes(program.desc)
    fluid.debuger.pprint_block_codes(program.global_block())
    assert capsys.readouterr().out.count("\nrelu(") == 2
    path = tmp_path / "block.dot"
    fluid.debugger.draw_block_graphviz(program.global_block(), ["x$"], str(path))
    text = path.read_text()
    assert text.startswith("digraph") and '"x" [style=filled, fillcolor=red];' in text
    assert '"x" -> "op 0";' in text and '"op 1" [shape=box, label="relu"];' in text


def test_what_plans_do_by_themselves(program, executor):
    from paddle.fluid.inference_transpiler import InferenceTranspiler
    from paddle.fluid.memory_optimization_transpiler import memory_optimize, release_memory

    before = str(program)
    InferenceTranspiler().transpile(program, fluid.CPUPlace())
    assert memory_optimize(program) is None and release_memory(program) is None
    assert str(program) == before
    assert InferenceTranspiler is fluid.transpiler.InferenceTranspiler


def test_transpilers_of_workers_alone():
    collective = paddle.fluid.transpiler.collective
    assert collective.GradAllReduce().mode == "grad_allreduce" and collective.LocalSGD().nrings == 2
    words = (fluid.Program(), fluid.Program(), 0)
    with pytest.raises(ValueError, match="there must be 2 endpoints or more"):
        collective.GradAllReduce().transpile(*words, ["a:1"], "a:1", True)
    with pytest.raises(ValueError, match="current_endpoint must be endpoint 0 of"):
        collective.LocalSGD().transpile(*words, "a:1,b:2", "b:2", True)
    import paddle.distributed.transpiler.collective as new

    assert new.GradAllReduce is collective.GradAllReduce
    assert paddle.distributed.transpiler.DistributeTranspiler is fluid.DistributeTranspiler


# ---- optimizers


def test_decoupled_weight_decay(executor):
    decayed = fluid.contrib.extend_optimizer.extend_with_decoupled_weight_decay
    x = fluid.data("x", [2, 4])
    w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5))
    b = fluid.ParamAttr(name="b", initializer=fluid.initializer.Constant(1.0))
    loss = fluid.layers.mean(fluid.layers.fc(x, 3, param_attr=w, bias_attr=b))
    optimizer = decayed(fluid.optimizer.SGD)(
        weight_decay=0.1,
        learning_rate=0.2,
        apply_decay_param_fun=lambda name: name == "w",
        grad_clip=fluid.clip.GradientClipByGlobalNorm(0.5),
    )
    ops, pairs = optimizer.minimize(loss)
    assert [op.type for op in ops] == ["sgd"] * 2 and {p.name for p, _ in pairs} == {"w", "b"}
    executor.run(fluid.default_startup_program())
    fed = {"x": np.arange(8).reshape(2, 4).astype("float32")}
    # From 1.8.5.
    for w, b in ((0.43443, 0.99221504), (0.37541702, 0.9844301)):
        executor.run(feed=fed, fetch_list=[loss])
        assert parameter("w")[0, 0] == pytest.approx(w, rel=1e-5)
        assert parameter("b")[0] == pytest.approx(b, rel=1e-6)
    with pytest.raises(TypeError, match="the class of an optimizer is expected"):
        decayed(fluid.optimizer.SGD(0.1))
    with pytest.raises(TypeError, match="weight_decay must be a number or a variable"):
        decayed(fluid.optimizer.SGD)("much", learning_rate=0.1)


def run_steps(executor, loss, each=lambda: None):
    executor.run(fluid.default_startup_program())
    found = []
    for step in range(7):
        fed = np.arange(6).reshape(2, 3).astype("float32") * np.float32(0.1 * (step + 1))
        executor.run(feed={"x": fed}, fetch_list=[loss])
        found.append((parameter("w")[0, 0], each()))
    return found


# From 1.8.5 and 2.6.2: the averages of w[0] after each step for a rate and a window.
AVERAGES = {
    (0.5, 2, 3): [0.482, 0.447926, 0.3963891, 0.23759857, 0.2099499, 0.19759166, 0.15104414],
    (0.15, 2, 10): [0.482, 0.447926, 0.3963891, 0.23759857, 0.2099499, 0.15758476, 0.15104414],
}


@pytest.mark.parametrize("window", AVERAGES)
@pytest.mark.parametrize("era", ["1.x", "2.x"])
def test_model_average(executor, era, window):
    loss = squares(fluid.data("x", [2, 3]))
    fluid.optimizer.SGD(0.1).minimize(loss)
    rate, least, most = window
    if era == "1.x":
        average = fluid.optimizer.ModelAverage(rate, least, most)
    else:
        average = paddle.incubate.ModelAverage(rate, None, least, most)

    def applied():
        before = parameter("w")
        with average.apply(executor):
            inside = parameter("w")[0, 0]
        assert np.array_equal(before, parameter("w"))
        return inside

    found = run_steps(executor, loss, applied)
    assert [inside for _, inside in found] == pytest.approx(AVERAGES[window], rel=1e-5)
    with average.apply(executor, need_restore=False):
        pass
    assert parameter("w")[0, 0] == pytest.approx(0.15104414, rel=1e-5)
    average.restore(executor)
    assert parameter("w")[0, 0] == pytest.approx(0.13796292, rel=1e-5)


def test_a_model_average_needs_a_step(executor):
    fluid.optimizer.SGD(0.1).minimize(squares(fluid.data("x", [2, 3])))
    average = fluid.optimizer.ModelAverage(0.5)
    executor.run(fluid.default_startup_program())
    unseen = pytest.raises(ValueError, match="has not seen a training step yet")
    with unseen, average.apply(executor):
        pass


def test_lookahead_of_2x(executor):
    loss = squares(fluid.data("x", [2, 3]))
    ops, pairs = paddle.incubate.optimizer.LookAhead(
        paddle.optimizer.SGD(0.1), alpha=0.3, k=3
    ).minimize(loss, parameters=["w"])
    assert len(ops) == len(pairs) == 1
    # From 2.6.2.
    expected = [0.482, 0.41385198, 0.42539456, 0.20115016, 0.14991584, 0.34811813, -0.1440492]
    assert [w for w, _ in run_steps(executor, loss)] == pytest.approx(expected, rel=1e-5)


# ---- evaluators


def test_chunks_over_runs(executor):
    found = fluid.layers.data("found", [1], dtype="int64", lod_level=1)
    right = fluid.layers.data("right", [1], dtype="int64", lod_level=1)
    evaluator = fluid.evaluator.ChunkEvaluator(found, right, "IOB", 2)
    executor.run(fluid.default_startup_program())

    def run(a, b):
        fed = {"found": tags(a), "right": tags(b)}
        return executor.run(feed=fed, fetch_list=evaluator.metrics)

    # B of type 0, I of type 0, B of type 1, ...: one of two chunks is right, then both.
    first = run([0, 1, 2, 3], [0, 1, 2, 2])
    assert [round(one.item(), 4) for one in first] == [0.5, 0.3333, 0.4]
    run([0, 1, 2, 3], [0, 1, 2, 3])
    assert [one.item() for one in evaluator.eval(executor)] == pytest.approx([0.75, 0.6, 2 / 3])
    evaluator.reset(executor)
    assert [one.item() for one in evaluator.eval(executor)] == [0, 0, 0]


def tags(values):
    array = np.array(values, "int64").reshape(-1, 1)
    return fluid.create_lod_tensor(array, [[len(values)]], fluid.CPUPlace())


def test_edit_distances_over_runs(executor):
    found = fluid.layers.data("found", [1], dtype="int64", lod_level=1)
    right = fluid.layers.data("right", [1], dtype="int64", lod_level=1)
    evaluator = fluid.evaluator.EditDistance(found, right)
    executor.run(fluid.default_startup_program())
    for a, b in (([1, 2, 3, 4], [1, 2, 3, 5]), ([1, 2], [1, 2])):
        executor.run(feed={"found": tags(a), "right": tags(b)}, fetch_list=evaluator.metrics)
    assert [one.item() for one in evaluator.eval(executor)] == [0.125, 0.5]


# ---- small things


def test_names_in_other_places(executor):
    from paddle.fluid.reader import GeneratorLoader
    from paddle.static.nn import sequence_lod

    assert sequence_lod.sequence_pool is static.nn.sequence_pool
    assert sequence_lod.sequence_mask is paddle.nn.functional.sequence_mask
    assert GeneratorLoader(capacity=2, return_list=True).iterable
    filled = paddle.tensor.fill_constant([2], "float32", 1.5)
    assert executor.run(fetch_list=[filled])[0].tolist() == [1.5, 1.5]
    assert paddle.tensor.fill_constant is fluid.layers.fill_constant


def test_decorators_keep_names():
    wrapped = fluid.wrapped_decorator

    @wrapped.wrap_decorator
    def doubled(function):
        return lambda *args: 2 * function(*args)

    @doubled
    def add(a, b):
        """Adds."""
        return a + b

    assert add(1, 2) == 6 and add.__name__ == "add" and add.__doc__ == "Adds."

    @wrapped.signature_safe_contextmanager
    def inside():
        yield 7

    with inside() as value:
        assert value == 7


def test_layer_function_generator(executor):
    made = fluid.layers.layer_function_generator
    x = fluid.data("x", [2])
    relu = made.generate_activation_fn("relu")
    found = executor.run(feed={"x": np.array([-1, 2], "float32")}, fetch_list=[relu(x)])
    assert found[0].tolist() == [0, 2] and relu.__name__ == "relu"

    @made.templatedoc()
    def softmax(x):
        """${comment} Twice."""

    assert softmax.__doc__.endswith("Twice.") and "${" not in softmax.__doc__

    @made.deprecated
    @made.autodoc("Old. ")
    def old():
        """Works."""
        return 3

    assert old.__doc__ == "Old. Works."
    with pytest.warns(DeprecationWarning, match="API old is deprecated"):
        assert old() == 3


def test_nests():
    utils = fluid.layers.utils
    nest = {"b": [1, (2, 3)], "a": 4}
    assert utils.flatten(nest) == [4, 1, 2, 3] and utils.is_sequence(nest)
    doubled = utils.map_structure(lambda a, b: a + b, nest, nest)
    assert doubled == {"b": [2, (4, 6)], "a": 8} and list(doubled) == ["b", "a"]
    with pytest.raises(ValueError, match="not alike"):
        utils.assert_same_structure([1, [2]], [1, 2])
    with pytest.raises(TypeError, match="list and tuple"):
        utils.assert_same_structure([1], (1,))
    with pytest.raises(ValueError, match="has 3 places for 2 values"):
        utils.pack_sequence_as([1, [2, 3]], [1, 2])
    assert utils.convert_to_list(3, 2, "stride") == [3, 3]
    assert utils.convert_to_list([1, 2], 2, "stride") == [1, 2]
    for wrong in ([1, 2, 3], None, [1, "x"]):
        with pytest.raises(ValueError, match="stride must be a int or a list of 2"):
            utils.convert_to_list(wrong, 2, "stride")


def test_curves(tmp_path, monkeypatch):
    from paddle.utils.plot import Ploter

    monkeypatch.setenv("DISABLE_PLOT", "True")
    curves = Ploter("train", "test")
    curves.append("train", 1, 0.5)
    curves.plot(str(tmp_path / "curve.png"))  # not drawn
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="no curve 'valid'"):
        curves.append("valid", 1, 0.5)

    drawn = []

    class Pyplot:
        def __getattr__(self, word):
            return lambda *args, **kwargs: drawn.append((word, args)) or self

    curves._pyplot = Pyplot()
    curves.plot("curve.png")
    assert [word for word, _ in drawn] == ["plot", "legend", "savefig", "gcf", "clear"]
    assert drawn[0][1] == ([1], [0.5]) and drawn[1][1] == (["train"],)
    curves.reset()
    assert curves._curves["train"].step == []
