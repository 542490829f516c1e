"""What ./demo, ./test and ./bench do before they run: how far a build is, and what ./demo builds."""

import os
import pathlib
import pty
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "dev"
# A build of three steps. Time passes quickly: half a minute for each look at it.
STAGE = """
source tools/setup
sleep() { command sleep 0.02; SECONDS=$((SECONDS + 30)); }
steps() { for i in 1 2 3; do echo "[$i/3] a file"; command sleep 0.3; done; return ${1:-0}; }
idle() { command sleep 0.1; echo "ninja: no work to do."; }
"""


def bash(script, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(["bash", "-c", STAGE + script], cwd=ROOT, text=True, **options)


def test_a_build_says_how_far_it_is_without_a_terminal():
    *lines, last = bash("stage building steps").stdout.splitlines()
    assert lines and all(re.fullmatch(r"  building \[[123]/3\]", line) for line in lines)
    assert re.fullmatch(r"  building \(\d+ s\)", last)


def test_a_build_with_nothing_to_do_says_nothing():
    assert bash("stage building idle").stdout == ""


def test_a_build_that_fails_shows_its_log():
    done = bash("stage building steps 7")
    assert done.returncode == 1
    assert done.stderr.endswith("[3/3] a file\nbuilding: failed with status 7; see the log above\n")


def test_a_terminal_has_one_line_that_changes():
    ours, theirs = pty.openpty()
    try:
        bash("stage building steps", stdout=theirs)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert re.search(r"\r  building \[[123]/3\]\x1b\[K", shown)
    assert shown.count("\n") == 1 and re.search(r"\r\x1b\[K  building \(\d+ s\)\r\n$", shown)


def compiled(*targets):
    """The sources from which `targets` are made."""
    command = ["ninja", "-C", BUILD, "-t", "commands", *targets]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split(" -c ")[1].split()[0] for line in lines if " -c " in line]


def test_the_demo_builds_what_it_runs_and_no_more():
    (targets,) = re.findall(r"^setup (.+)$", (ROOT / "demo").read_text(), re.MULTILINE)
    some, everything = compiled(*targets.split()), compiled("all")
    folders = ("tests/", "benchmarks/", "examples/", "flotilla/testing/")
    needless = [s for s in some if s.endswith("_test.cc") or any(f"/{f}" in s for f in folders)]
    assert not needless
    for part in ("flotilla/ops/", "python/src/", "cli/"):
        assert any(f"/{part}" in source for source in some), part
    assert len(some) <= 0.7 * len(everything), f"{len(some)} of {len(everything)} files"
