"""Functions and classes that tables write: paddle/_tables.py, paddle/_rows.py, tools/api_tables.py."""

import ast
import builtins
import importlib
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import traceback

import pytest

import paddle
from paddle import _rows, static

PACKAGE = pathlib.Path(paddle.__file__).parent
ROOT = PACKAGE.parent.parent
TOOL = ROOT / "tools" / "api_tables.py"
TABLES = sorted(PACKAGE.rglob("*.api"))


def name_of(table):
    parts = table.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_of(table):
    return importlib.import_module(name_of(table))


def functions_of(table):
    """{name: function} of the rows of a table, without what it imports."""
    found = vars(module_of(table)).items()
    code = {name: getattr(inspect.unwrap(one), "__code__", None) for name, one in found}
    return {
        name: one for name, one in found if getattr(code[name], "co_filename", "") == str(table)
    }


def classes_of(table):
    """{name: class} of the rows of a table, without what it imports."""
    found = {name: one for name, one in vars(module_of(table)).items() if isinstance(one, type)}
    code = {name: getattr(one.__init__, "__code__", None) for name, one in found.items()}
    return {
        name: one
        for name, one in found.items()
        if getattr(code[name], "co_filename", "") == str(table)
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.relative_to(PACKAGE)))
def test_every_row_names_what_there_is(table):
    """Its operator or function exists, with these inputs and attributes, and takes all arguments."""
    module, found = module_of(table), functions_of(table)
    assert module.__doc__
    for name, made in classes_of(table).items():
        assert inspect.getdoc(made), name
        assert (made.__module__, made.__qualname__) == (module.__name__, name)
        assert name in getattr(module, "__all__", [name]), name
    for name, function in found.items():
        assert function._row.doc, name
        assert inspect.getdoc(function), name
        assert name in getattr(module, "__all__", found), name


def made_from(tmp_path, text):
    """The names that a table of this text gives a module."""
    (tmp_path / "made.api").write_text(text)
    namespace = {
        "__file__": str(tmp_path / "made.py"),
        "__name__": "made",
        "__builtins__": builtins,
    }
    assert _rows.rows(namespace) == [name for name in namespace if not name.startswith("__")]
    return namespace


def last_op():
    return static.default_main_program().global_block().ops[-1]


def test_arguments_go_where_a_row_says(tmp_path):
    made = made_from(
        tmp_path,
        """# a comment
scaled(x, by=2.0, plus=None, name=None) = scale(ScaleTensor|scale=by, bias=plus or 0.5);
        layer=grown; stop_gradient; also input=x
    More of it.

    >>> scaled(x, 3)
another = scaled
from paddle.tensor.math: add, multiply as times
""",
    )
    x = static.data("x", [None, 3])
    out = made["another"](input=x, by=3)
    assert (out.name, out.stop_gradient) == ("grown_0.tmp_0", True)
    assert last_op().type == "scale"
    assert (last_op().attr("scale"), last_op().attr("bias")) == (3.0, 0.5)
    made["scaled"](x, static.data("by", [1]), 1, name="here")
    assert last_op().input("ScaleTensor") == ["by"]
    assert last_op().output("Out") == ["here.tmp_0"]
    assert made["scaled"].__doc__ == "More of it.\n\n>>> scaled(x, 3)"
    signature = inspect.signature(made["scaled"])
    assert str(signature) == "(x, by=2.0, plus=None, name=None)"
    assert made["times"] is paddle.multiply


def test_forms_of_values(tmp_path):
    made = made_from(
        tmp_path,
        """totals(x, axis=None, dtype=None) = cumsum(X=cast(x, dtype), flatten=missing(axis))
filled(x, shape, dtype=None) = fill_constant(ShapeTensor|ShapeTensorList[]|shape=shape,
        dtype=dtype(dtype or x), value=1); unused x
best(x, k=1) = top_k_v2(K|k=k) -> [Out], Indices
""",
    )
    x = static.data("x", [None, 3], "float64")
    assert made["totals"](x, dtype="float32").dtype == "float32"
    assert last_op().attr("flatten") is True
    made["totals"](x, 1, "float64")
    assert (last_op().attr("axis"), last_op().attr("flatten")) == (1, False)
    assert last_op().input("X") == ["x"]
    assert made["filled"](x, [2, 3]).dtype == "float64"
    assert last_op().attr("shape") == [2, 3]
    rows = static.data("rows", [1], "int32")
    made["filled"](x, [rows, 3], "int64")
    assert last_op().input("ShapeTensorList")[0] == "rows"
    made["filled"](x, static.data("shape", [2], "int64"))
    assert last_op().input("ShapeTensor") == ["shape"]
    assert made["best"](x, 2).dtype == "int64"


def test_a_layer_keeps_what_its_function_takes(tmp_path):
    made = made_from(
        tmp_path,
        """class Leaky(...)(x) = leaky_relu
class Top(width, start=2, weight_attr=None, bias_attr=None, name=None)(input) = linear;
        weight [4, width] = start; bias [width]; shows {width} wide
    The top.
class Channels(p=0.5, name=None)(x) = dropout(axis=1); unused name
""",
    )
    leaky = made["Leaky"](0.2)
    assert (str(inspect.signature(made["Leaky"])), repr(leaky)) == (
        "(negative_slope=0.01, name=None)",
        "Leaky(negative_slope=0.2)",
    )
    leaky.negative_slope = 0.3
    leaky(static.data("x", [None, 4]))
    assert abs(last_op().attr("alpha") - 0.3) < 1e-6
    top = made["Top"](3, bias_attr=False, name="here")
    assert isinstance(top, paddle.nn.Layer)
    assert (repr(top), top.bias, top.weight.shape) == ("Top(3 wide)", None, (4, 3))
    start = static.default_startup_program().global_block().ops[-1]
    assert (start.type, start.attr("value")) == ("fill_constant", 2.0)
    assert top(static.data("x", [None, 4])).name == "here.tmp_0"
    assert (made["Top"].__doc__, made["Leaky"].__doc__) == (
        "The top.",
        paddle.nn.functional.leaky_relu.__doc__,
    )
    channels = made["Channels"]()
    channels.eval()
    x = static.data("images", [None, 4, 2])
    assert channels(x) is x  # as it is when it does not train


def test_a_class_begins_as_the_one_above_it(tmp_path):
    class Above:
        def __init__(self, size, kind, **rest):
            self.made = (size, kind, rest)

    (tmp_path / "made.api").write_text(
        """class Below(width, depth=1, name=None) = Above(size=width, kind='it'); unused name
    What is below.
class Last(size) = Below(width=size)
"""
    )
    made = {"__file__": str(tmp_path / "made.py"), "__name__": "made", "Above": Above}
    assert _rows.rows(made) == ["Below", "Last"]
    below = made["Below"](3, name="x")
    assert isinstance(below, Above) and below.made == (3, "it", {"depth": 1})
    assert issubclass(made["Last"], made["Below"]) and made["Last"](4).made[0] == 4
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'width'"):
        made["Below"]()


def test_a_result_goes_where_an_argument_says(tmp_path):
    made = made_from(
        tmp_path,
        """grown(x, out=None, fixed=True) = relu; into out; stop_gradient=fixed
""",
    )
    x, out = static.data("x", [None, 3]), static.data("out", [None, 3])
    assert made["grown"](x).stop_gradient
    assert not made["grown"](x, fixed=False).stop_gradient
    assert made["grown"](x, out).name == "out"
    assert (last_op().type, last_op().output("Out")) == ("assign", ["out"])


@pytest.mark.parametrize(
    "row, said",
    [
        ("f(x, y) = relu", "nothing takes the argument y"),
        ("f(x) = relu(Z=x)", 'relu has neither an input nor an attribute "Z"'),
        ("f(x) = relu; loudly", 'there is no option "loudly"'),
        ("f(x) = relu; unused y", 'there is no argument "y"'),
    ],
)
def test_a_wrong_row_is_refused(tmp_path, row, said):
    with pytest.raises(ValueError, match=said) as refused:
        made_from(tmp_path, row + "\n")  # which looks for the text of the operator
    assert row.partition(" = ")[2].partition(";")[0] in str(refused.value)


def test_an_argument_that_a_layer_has_no_use_for_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing takes the argument y of the row of Relu"):
        made_from(tmp_path, "class Relu(y)(x) = relu\n")


def test_a_module_may_be_a_table_alone():
    import paddle.fluid.layers.sequence_lod as sequences
    from paddle.fluid import debuger, debugger

    assert {"sequence_mask", "sequence_pool", "sequence_concat"} < set(sequences.__all__)
    assert sequences.sequence_mask is paddle.nn.functional.sequence_mask
    assert debuger.__doc__ == "fluid.debugger as it was spelled before 0.13."
    assert debuger.draw_block_graphviz is debugger.draw_block_graphviz
    with pytest.raises(AttributeError, match='paddle.fluid.debuger has no "draw"'):
        debuger.draw  # noqa: B018


def test_a_package_may_be_a_table_alone():
    from paddle.distributed.fleet import utils

    assert utils.__doc__ == "Helpers of fleet."
    assert utils.LocalFS is utils.fs.LocalFS
    assert {"fs", "ps_util"} < set(dir(utils))
    with pytest.raises(ModuleNotFoundError, match="paddle.distributed.fleet.utils"):
        importlib.import_module("paddle.distributed.fleet.utils.sf")


def test_a_line_that_is_no_row_is_refused(tmp_path):
    with pytest.raises(
        SyntaxError, match="made.api, line 2: neither a row, an alias nor an import"
    ):
        made_from(tmp_path, "# one\nf(x)\n")


def test_wrong_calls_are_refused_as_pythons():
    x = static.data("x", [None, 3])
    with pytest.raises(TypeError, match=r"relu\(\) missing 1 required positional argument: 'x'"):
        paddle.nn.functional.relu()
    with pytest.raises(TypeError, match=r"relu\(\) got an unexpected keyword argument 'axis'"):
        paddle.nn.functional.relu(x, axis=1)
    with pytest.raises(
        TypeError, match=r"^relu\(\): name must be a string or None, but is 3 of type"
    ):
        paddle.nn.functional.relu(x, name=3)
    with pytest.raises(TypeError, match=r"^split\(\): x must be a Variable, but is 3 of type int"):
        paddle.split(input=3, num_or_sections=2)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: paddle.nn.functional.softmax(x, axis=7), "softmax"),
        (lambda x: paddle.squeeze(input=x, axes=[5]), "squeeze"),
        (lambda x: paddle.sum(x, axis=5), "sum"),
    ],
)
def test_a_traceback_has_one_frame_of_ours(call, name):
    with pytest.raises(ValueError) as refused:
        call(static.data("x", [None, 3]))
    ours = [
        frame
        for frame in traceback.extract_tb(refused.tb)
        if frame.filename.startswith(str(PACKAGE))
    ]
    assert [frame.name for frame in ours] == [name]
    assert ours[0].line.startswith(f"{name}(x, ")


def test_the_list_of_functions_is_the_tables():
    """docs/ops.md is what tools/api_tables.py --docs writes."""
    spec = importlib.util.spec_from_file_location("api_tables", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs" / "ops.md").read_text() == tool.document()


def test_stubs_have_every_name(tmp_path):
    subprocess.run([sys.executable, TOOL, "--stubs", tmp_path], check=True)
    for table in TABLES:
        stub = ast.parse(
            (tmp_path / table.relative_to(PACKAGE.parent)).with_suffix(".pyi").read_text()
        )
        names = set()
        for node in stub.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.ImportFrom):
                names.update(one.asname or one.name for one in node.names)
            elif isinstance(node, ast.Assign):
                names.update(target.id for target in node.targets)
            elif isinstance(node, ast.AnnAssign):
                names.add(node.target.id)
        if "*" not in names:
            assert set(getattr(module_of(table), "__all__", ())) <= names, table
        assert {*functions_of(table), *classes_of(table)} <= names
    layers = (tmp_path / "paddle" / "nn" / "layer" / "activation.pyi").read_text()
    assert "class CELU(Layer):" in layers and "(self, alpha=1.0, name=None): ..." in layers
