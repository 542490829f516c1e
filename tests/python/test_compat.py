"""``python -m paddle.compat``: what a program uses, and the page on what is here."""

import pathlib
import re
import sys

import paddle
import pytest
import watched
from paddle import compat
from paddle.compat import _report, _table
from paddle.compat.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[2]


def used(source):
    return _report.names(source, "program.py")


# ---- names in a program


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import paddle\npaddle.static.nn.fc(x, 1)", {"paddle.static.nn.fc": [2]}),
        ("import paddle.fluid as fluid\nfluid.layers.fc", {"paddle.fluid.layers.fc": [2]}),
        ("import paddle.fluid\npaddle.fluid.Executor", {"paddle.fluid.Executor": [2]}),
        (
            "from paddle import fluid as f, batch\nf.data\nbatch(r, 2)",
            {"paddle.fluid.data": [2], "paddle.batch": [1, 3]},
        ),
        (
            "from paddle.fluid.layers import *\nfc(x)\nmine(x)\nlen(x)",
            {"paddle.fluid.layers.fc": [2]},
        ),
        ("import paddle.fluid as f\nlayers = f.layers\nlayers.mean(x)", {"paddle.fluid.layers.mean": [3]}),
        (
            "import paddle\nplace = paddle.CPUPlace()\nexe = paddle.static.Executor(place)\nexe.run()\nexe.jog()",
            {
                "paddle.CPUPlace": [2],
                "paddle.static.Executor": [3],
                "paddle.static.Executor.jog": [5],
            },
        ),
        (
            "import paddle\nclass Net(paddle.nn.Layer):\n    pass\nNet().x.y",
            {"paddle.nn.Layer": [2]},
        ),
        ("import os, numpy as np\nfrom . import paddle\nnp.zeros(3)\nos.path", {}),
        ("import paddle\npaddle.nowhere.to_be.found()", {"paddle.nowhere": [2]}),
        ("import paddle.fluid.nowhere as n\nn.f()", {"paddle.fluid.nowhere": [1, 2]}),
        (
            "import paddle.fluid as fluid\nfluid.BuildStrategy.ReduceStrategy.AllReduce",
            {"paddle.fluid.BuildStrategy": [2]},
        ),
        (
            "from paddle.distributed.fleet import DistributedStrategy as S\ns = S()\ns.a_sync = True\ns.a_synk = True\ns = {}\ns.x = 1",
            {
                "paddle.distributed.fleet.DistributedStrategy": [1, 2],
                "paddle.distributed.fleet.DistributedStrategy.a_synk": [4],
            },
        ),
        (
            'import paddle.fluid as f\nd = f.DatasetFactory().create_dataset("InMemoryDataset")\nd.use_var = []\nd.bar = 1\nd.set_bar(1)',
            {
                "paddle.fluid.DatasetFactory": [2],
                "paddle.fluid.InMemoryDataset.bar": [4],
                "paddle.fluid.InMemoryDataset.set_bar": [5],
            },
        ),
        (
            "import paddle\nlayer = paddle.nn.Linear(2, 3)\nlayer.mine = 1\nlayer.weight.x = 2",
            {"paddle.nn.Linear": [2]},
        ),
    ],
)  # fmt: skip
def test_names_are_found_through_aliases(source, expected):
    assert used(source) == expected


def test_eras():
    assert _table.eras("paddle.fluid.layers.fc") == ["1.8"]
    assert _table.eras("paddle.static.Executor") == ["2.x"]
    assert _table.eras("paddle.batch") == ["1.8", "2.x"]
    assert _table.eras("paddle.fluid.Trainer") == ["0.14"]
    assert _table.eras("paddle.no_such_name") == []
    assert _table.eras("paddle.fluid.incubate.fleet.base.role_maker.Role") == ["1.8"]


def test_advice_names_what_is_here():
    assert _table.advice("paddle.fluid.layers.fcc") == "nearest: paddle.fluid.layers.fc"
    assert "static programs" in _table.advice("paddle.fluid.dygraph.guard")
    assert _table.advice("paddle.fluid.Linear") == "use paddle.nn.Linear"
    assert _table.advice("paddle.tensor.qqqqqqqqqqqq") == "not implemented"
    near = "nearest: paddle.distributed.fleet.DistributedStrategy.a_sync"
    assert _table.advice("paddle.distributed.fleet.DistributedStrategy.a_synk") == near


def test_a_name_is_here_if_python_finds_it():
    assert _table.has("paddle") and _table.has("paddle.fluid.layers")
    assert _table.has("paddle.vision.datasets.MNIST")
    assert not _table.has("paddle.vision.datasets.MNISTT")
    assert not _table.has("paddle.no_module.name")


# ---- the command


def test_report_of_a_whole_program(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(
        "import paddle.fluid as fluid\n"
        "x = fluid.layers.data('x', [3])\n"
        "y = fluid.layers.fc(x, 1)\n"
        "z = fluid.layers.fc(x, 1)\n"
    )
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path} uses 2 names of Paddle; Flotilla has 2.\n"
        "line  name                      era  in Flotilla\n"
        "   2  paddle.fluid.layers.data  1.8  yes\n"
        "   3  paddle.fluid.layers.fc    1.8  yes\n"
    )


def test_report_says_what_to_do_about_the_rest(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import paddle\n\npaddle.enable_static()\nmodel = paddle.Model(None)\n")
    run = watched.run([sys.executable, "-m", "paddle.compat", "report", str(path)])
    assert run.returncode == 1 and run.stderr == ""
    first, _, missing, there = run.stdout.splitlines()
    assert first.endswith("uses 2 names of Paddle; Flotilla has 1.")
    assert missing.split(None, 3)[:3] == ["4", "paddle.Model", "2.x"]
    assert "no: Flotilla trains static programs" in missing
    assert there.split() == ["3", "paddle.enable_static", "2.x", "yes"]


def test_files_beside_a_program_are_looked_at_too(tmp_path, capsys):
    (tmp_path / "nets").mkdir()
    (tmp_path / "train.py").write_text(
        "import os\nimport model\nfrom nets import small\nfrom nets.big import net\nimport paddle\n"
    )
    (tmp_path / "model.py").write_text("import paddle\nimport train\npaddle.Model\n")
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "small.py").write_text("import paddle\npaddle.static.nn.fc\n")
    (tmp_path / "nets" / "big.py").write_text("import paddle\npaddle.batch\n")
    assert main(["report", str(tmp_path / "train.py")]) == 1
    shown = re.findall(r"^(\S+) uses", capsys.readouterr().out, re.MULTILINE)
    names = ["train.py", "model.py", "nets/__init__.py", "nets/big.py", "nets/small.py"]
    assert shown == [str(tmp_path / name) for name in names]


def test_what_is_no_program_is_refused(tmp_path, capsys):
    path = tmp_path / "bad.py"
    path.write_text("def f(:\n")
    assert main(["report", str(path)]) == 2
    assert re.match(r"not a program: .*bad\.py, line 1", capsys.readouterr().err)
    assert main(["report", str(tmp_path / "none.py")]) == 2
    (tmp_path / "empty.py").write_text("print('hello')\n")
    assert main(["report", str(tmp_path / "empty.py")]) == 0
    assert capsys.readouterr().out.endswith("uses 0 names of Paddle; Flotilla has 0.\n")


def test_the_page_is_up_to_date():
    """Otherwise: python -m paddle.compat table > docs/compatibility.md"""
    run = watched.run([sys.executable, "-m", "paddle.compat", "table"], seconds=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout == (ROOT / "docs" / "compatibility.md").read_text()


# ---- the functions of the module, with 1.8.5's answers


def test_text_and_bytes():
    assert compat.to_text([b"a", "b", 3]) == ["a", "b", 3]
    assert compat.to_text({b"a": b"b"}) == {"a": "b"} and compat.to_text({b"x"}) == {"x"}
    assert compat.to_bytes(["a", b"c"]) == [b"a", b"c"] and compat.to_text(None) is None
    words = [b"a"]
    assert compat.to_text(words, inplace=True) is words and words == ["a"]
    assert compat.get_exception_message(ValueError("x")) == "x" and compat.long_type is int


def test_numbers():
    found = [compat.round(x) for x in (0.5, -0.5, 1.5, 2.5, 0.0, -2.4)]
    assert found == [1.0, -1.0, 2.0, 3.0, 0.0, -2.0]
    assert compat.round(2.675, 2) == 2.68 and compat.round(5, -1) == 10.0
    assert paddle.compat.floor_division(-7, 2) == -4
