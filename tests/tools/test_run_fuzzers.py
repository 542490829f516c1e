"""tests/fuzz/run.py: how many programs were run counts, not that time ran out."""

import importlib.util
import pathlib
import sys

import pytest
import run_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Stands for the fuzzer: counts as it does, or finds something.
STAND_IN = """#!/bin/sh
case "$*" in *-seed=1*) echo "programs: 600, of which 50.0% got a plan" >&2;; esac
case "$*" in *-seed=2*) echo "programs: 700, of which 40.0% got a plan" >&2;; esac
exit {status}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("run_fuzzers", ROOT / "tests/fuzz/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "build", lambda preset, fuzzers: None)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 2)

    def call(*options, status=0):
        binary = tmp_path / "build" / "fuzz" / "bin" / "run_program_fuzz"
        binary.parent.mkdir(parents=True, exist_ok=True)
        binary.write_text(STAND_IN.format(status=status))
        binary.chmod(0o755)
        monkeypatch.setattr(sys, "argv", ["run.py", *options, "run_program_fuzz"])
        try:
            module.main()
        except SystemExit as left:
            return left.code
        return 0

    return call


def test_the_programs_of_all_processes_are_counted(run, capfd):
    assert run("--shared", "--at-least=1300") == 0
    assert "1300 programs in all" in capfd.readouterr().out


def test_too_few_programs_are_an_error(run):
    why = "1301 programs were to be run, but time ran out after 1300"
    assert run("--shared", "--at-least=1301") == why
    assert run("--at-least=601") == "601 programs were to be run, but time ran out after 600"
    assert run("--shared") == 0


def test_what_is_found_is_an_error(run):
    assert run("--shared", "--at-least=1", status=1) == 1


def test_a_full_run_asks_for_all_programs(monkeypatch):
    commands = []
    monkeypatch.setattr(run_tests, "check", lambda name, command: commands.append(command) or [])
    run_tests.fuzz(full=True)
    run_tests.fuzz(full=False)
    asks = [[word for word in command if word.startswith("--at-least")] for command in commands]
    all_ = ["--at-least=1000000"]
    assert asks == [[], [], all_, all_, [], [], [], []]
