"""The examples of Paddle's docstrings that run there run here, or the page says why not."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import examples
import examples_page

SAMPLE = 12
GOALS = {"1.8.5": 400, "2.6.2": 150}


@pytest.mark.parametrize("release", examples.RELEASES)
def test_so_many_run(release):
    there = examples.read(examples.recorded(release))
    here = examples.read(examples.recorded_here(release))
    assert sorted(here) == sorted(name for name, outcome in there.items() if outcome == "ran")
    assert list(here.values()).count("ran") >= GOALS[release]


def test_the_page_says_why_the_others_do_not():
    page = Path(__file__).resolve().parents[2] / "docs" / "examples.md"
    assert page.read_text(encoding="utf-8") == examples_page.text()


def run_in_a_new_process(codes):
    """Other tests have left programs and threads in this one, which each example would begin with."""
    program = (
        "import json, sys, examples; print(json.dumps(examples.run_all(json.load(sys.stdin))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(codes),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not examples.HERE, reason="tools/oracle/record_examples.py asks real Paddle")
@pytest.mark.parametrize("release", examples.RELEASES)
def test_a_sample_does_what_was_recorded(release):
    if not examples.interpreter(release):
        pytest.skip(f"tools/oracle/setup.sh {examples.RELEASES[release]} installs the examples")
    here, codes = examples.read(examples.recorded_here(release)), examples.codes(release)
    names = random.Random(21).sample(sorted(here), SAMPLE)
    found = run_in_a_new_process({name: codes[name] for name in names})
    assert {name: outcome.split()[0] for name, outcome in found.items()} == {
        name: here[name].split()[0] for name in names
    }
