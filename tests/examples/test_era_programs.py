"""Programs as users of each era wrote them, unchanged for Flotilla, run with plain ``python``.

Each trains on generated data for a few dozen steps, and what it prints shows that it learns.
"""

import os
import pathlib
import re
import shutil
import sys

import _flotilla as core
import pytest
import watched
from paddle.compat import _report, _table

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def run(folder, name, *arguments):
    """What a program prints. It runs in a folder of its own, with `python` on the path."""
    for path in PROGRAMS.glob("*.py"):
        shutil.copy(path, folder)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "FLT_DOWNLOAD": "0", "FLT_THREADS": "1", "PATH": path}
    environment.pop("FLT_TEST_DATA", None)
    done = watched.run(
        [sys.executable, f"{name}.py", *map(str, arguments)],
        cwd=folder,
        env=environment,
        seconds=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(pattern, printed):
    return [float(one) for one in re.findall(pattern, printed)]


@pytest.fixture
def clicks(tmp_path):
    """Lines of a click log, in two files."""
    core.write_clicks(str(tmp_path / "clicks"), train=4000, test=10, train_files=2)
    return "clicks/train"


def test_fit_a_line(tmp_path):
    printed = run(tmp_path, "fit_a_line")
    first, *_, last = numbers(r"Test cost, Pass \d+, Cost (\S+)", printed)
    assert last < first
    assert len(re.findall(r"^\d+\.\d\d, \d+\.\d\d$", printed, re.MULTILINE)) == 10
    assert (tmp_path / "fit_a_line.inference.model" / "__model__").exists()


def test_recognize_digits(tmp_path):
    printed = run(tmp_path, "recognize_digits", 60)
    (accuracy,) = numbers(r"acc: (\S+)", printed)
    assert accuracy > 0.8
    assert re.search(r"Inference result, label \d, image is: \d", printed)


def test_lenet_of_the_fluid_era(tmp_path):
    printed = run(tmp_path, "lenet_fluid", 60)
    (accuracy,) = numbers(r"test acc (\S+)", printed)
    assert accuracy > 0.8 and "the same again: True" in printed


def test_lenet_in_a_static_program(tmp_path):
    printed = run(tmp_path, "lenet_static", 60)
    (accuracy,) = numbers(r"test acc (\S+)", printed)
    assert accuracy > 0.7 and "shape of what is inferred: (5, 10)" in printed
    assert "parameters: 61674" in printed


def test_ctr_dnn(tmp_path, clicks):
    printed = run(tmp_path, "ctr_dnn", "--train_files", clicks, "--epochs", 3)
    scores = numbers(r"Epoch \d auc \[1\]:\[(\S+)\]", printed)
    assert len(scores) == 6 and scores[-1] > max(scores[0], 0.54)
    assert (tmp_path / "ctr_models" / "epoch_2" / "SparseFeatFactors").exists()


def test_deepfm(tmp_path, clicks):
    printed = run(tmp_path, "deepfm", clicks)
    assert "samples in memory: 4000" in printed
    scores = numbers(r"auc\[1\]:\[(\S+)\]", printed)
    assert scores[-1] > max(scores[0], 0.54)
    assert (tmp_path / "deepfm.pdparams").exists()


def test_word2vec(tmp_path):
    printed = run(tmp_path, "word2vec", 150)
    costs = numbers(r"Average Cost (\S+)", printed)
    assert costs[-1] < 0.5 * costs[0]
    assert "words and their likelihood: (1, " in printed


def test_recommender(tmp_path):
    printed = run(tmp_path, "recommender", 60)
    costs = numbers(r"cost (\S+)", printed)
    assert costs[-1] < 0.6 * costs[0] and "tables: 5" in printed


def test_vgg_of_the_fluid_era(tmp_path):
    printed = run(tmp_path, "vgg_fluid", 60)
    losses = numbers(r"loss (\S+)", printed)
    (accuracy,) = numbers(r"last ten: (\S+)", printed)
    assert losses[-1] < losses[0] and accuracy > 0.3


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_the_report_finds_all_that_these_programs_use(path):
    found = _report.names(path.read_text(), path.name)
    assert found
    assert [name for name in found if not _table.has(name)] == []
