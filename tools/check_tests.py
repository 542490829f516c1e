"""Checks that no test file is left unbuilt or uncollected.

    tools/check_tests.py [--build FOLDER]

Every *_test.cc must be compiled, and at least one test suite that it defines must be known to
ctest; those in a folder named cuda or nccl only in a build with FLT_CUDA. Every test_*.py must give
pytest at least one test.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = ("flotilla", "cli", "python", "tests", "examples", "tools")
SUITE = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,", re.MULTILINE)


def test_files(root, pattern):
    return sorted(path for top in TOPS for path in (root / top).rglob(pattern))


def with_cuda(build):
    """Whether `build` was configured with FLT_CUDA."""
    return "FLT_CUDA:BOOL=ON" in (build / "CMakeCache.txt").read_text()


def without_cuda(files):
    """Those of `files` that every build compiles."""
    return [path for path in files if not {"cuda", "nccl"} & set(path.relative_to(ROOT).parts)]


def registered_suites(build):
    """The names of all test suites that ctest knows: `folder.Suite.Case`, `folder.Set/Suite.Case`."""
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = [test["name"] for test in json.loads(listing)["tests"]]
    return {part for name in names for part in re.split(r"[./]", name)}


def unbuilt(files, compiled, suites):
    """Those of `files` that are not compiled, or whose suites are all unknown."""
    for path in files:
        if str(path) not in compiled:
            yield f"{path}: no target compiles it"
            continue
        defined = set(SUITE.findall(path.read_text()))
        if not defined & suites:
            yield f"{path}: ctest knows none of its test suites ({', '.join(sorted(defined))})"


def uncollected(files, collected):
    """Those of `files` from which pytest takes no test; `collected` are its node names."""
    seen = {name.split("::")[0] for name in collected if "::" in name}
    for path in files:
        if path.relative_to(ROOT).as_posix() not in seen:
            yield f"{path}: pytest collects no test from it"


def collect():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description="No test file may be left unbuilt.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    build = parser.parse_args().build

    commands = json.loads((build / "compile_commands.json").read_text())
    compiled = {command["file"] for command in commands}
    cc_files, py_files = test_files(ROOT, "*_test.cc"), test_files(ROOT, "test_*.py")
    if not with_cuda(build):
        cc_files = without_cuda(cc_files)
    found = [*unbuilt(cc_files, compiled, registered_suites(build))]
    found += uncollected(py_files, collect())
    for line in found:
        print(line)
    print(f"{len(cc_files)} C++ and {len(py_files)} Python test files, {len(found)} left out")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
