"""What the library says of its operators is what registry.txt says: a change of a slot, an
attribute, a default, a dtype or a gradient is seen in a diff.

    .venv/bin/flotilla inspect op > tests/ops/registry.txt
"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FLOTILLA = pathlib.Path(sys.executable).with_name("flotilla")


def inspect(*words):
    return subprocess.run([FLOTILLA, "inspect", "op", *words], capture_output=True, text=True)


def test_the_registry_is_as_committed():
    assert inspect().stdout == (HERE / "registry.txt").read_text()


def test_one_operator_is_shown_with_its_docs():
    done = inspect("softmax")
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("op softmax: ")
    assert any(line.startswith("  attr axis = -1 (int): ") for line in rest)
    assert "  gradient softmax_grad of Out" in rest


def test_an_unknown_operator_is_refused_with_the_nearest():
    done = inspect("sofmax")
    assert done.returncode != 0
    assert 'the op "sofmax" is not defined. Did you mean "softmax"?' in done.stderr
