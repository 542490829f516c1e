"""The examples in C++ and in Python are the same programs: same losses, bit for bit."""

import math
import pathlib
import sys

import pytest
import watched

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 5
CASES = {
    "linear_regression": [],
    "mlp": [],
    "collective_mlp": [],
    "served_mlp": [],
    "lenet": [],
    "control_flow": [],
    "lstm": [],
    "tagger": [],
    "predict": [],
    "wide_deep": ["--rows", "10001"],
    "sharded_digits": ["--rank", "1", "--ranks", "3", "--batch", "32"],
    "resnet50": ["--layers", "18", "--image", "64", "--batch", "4", "--classes", "10"],
}


def losses(*command):
    """The lines that an example prints."""
    arguments = ["--steps", str(STEPS), "--init", "1"]
    done = watched.run([*map(str, command), *arguments], cwd=ROOT, seconds=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("name", CASES)
def test_cpp_and_python_print_the_same_losses(name):
    in_cpp = losses(ROOT / f"build/dev/bin/example_{name}", *CASES[name])
    in_python = losses(sys.executable, ROOT / f"examples/python/{name}.py", *CASES[name])
    assert len(in_cpp) == STEPS
    assert all(math.isfinite(float(loss)) for loss in in_cpp)
    assert in_cpp == in_python


def test_every_example_has_a_twin():
    in_cpp = {path.stem for path in (ROOT / "examples/cpp").glob("*.cc")}
    assert in_cpp == set(CASES)
    assert all((ROOT / f"examples/python/{name}.py").exists() for name in CASES)
