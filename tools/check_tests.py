"""Checks that no test file is left unbuilt or uncollected, and that operators are found by name.

    tools/check_tests.py [--build FOLDER]

Every *_test.cc must be compiled, and at least one test suite that it defines must be known to
ctest; those in a folder named cuda or nccl only in a build with FLT_CUDA. Every test_*.py must give
pytest at least one test.

An operator's file bears its name, as tools/counts.py says, or stands in NAMED_OTHERWISE with the
reason. A test of operators, in flotilla/ops, is called like the source or header that it tests,
which lies beside it; those of update rules like the rule's file in flotilla/update.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import counts

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPS = ("flotilla", "cli", "python", "tests", "examples", "tools")
# Operators whose file does not bear their name: (types, where they are and why).
NAMED_OTHERWISE = (
    ("share_data memcpy memcpy_d2h memcpy_h2d", "assign.cc: other names of assign"),
    ("grad_add", "elementwise.cc: another name of elementwise_add"),
    ("adamw", "update/adam.cc: adam with a decay"),
    ("tile meshgrid broadcast_tensors", "expand.cc: one walk, of which expand_* are rows too"),
    ("mean frobenius_norm", "reduce.cc: reductions as those of reduce_*"),
    ("empty", "fill.cc: fills with zeros"),
    ("fused_bn_act fused_bn_add_act", "batch_norm.cc, which they call bn"),
    ("pixel_unshuffle space_to_depth", "shuffle.cc: rows of its table"),
    ("c_wait_comm c_wait_compute depend nop", "sync.cc: they hand on as c_sync_* do"),
    ("c_gen_nccl_id", "comm_init.cc: what c_comm_init asks for; does nothing"),
    ("read", "reader.cc: takes from what create_py_reader makes"),
)
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


def hard_to_find(root, excused):
    """Operators without a file that bears their name, but for those of `excused`; and those that
    are excused although they have one."""
    types = counts.forward_types(root)
    lost = counts.not_found_by_name(root, types)
    for type in lost:
        if type not in excused:
            yield f"{type}: no file in flotilla/ops is named like it (rule: tools/counts.py)"
    for type in excused:
        if type not in lost:
            yield f"{type}: is found by name, or is gone; take it out of NAMED_OTHERWISE"


def astray(root):
    """Tests of operators that are called unlike what they test."""
    for path in sorted((root / "flotilla/ops").rglob("*_test.cc")):
        stem = path.stem.removesuffix("_test")
        sources = [path.with_name(stem + suffix) for suffix in (".cc", ".h")]
        if path.parent.name == "optim":
            sources.append(root / "flotilla/update" / f"{stem}.cc")
        if not any(source.exists() for source in sources):
            yield f"{path}: no {stem}.cc or {stem}.h lies beside it"


def collect():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--no-header"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev")
    build = parser.parse_args().build

    commands = json.loads((build / "compile_commands.json").read_text())
    compiled = {command["file"] for command in commands}
    cc_files, py_files = test_files(ROOT, "*_test.cc"), test_files(ROOT, "test_*.py")
    if not with_cuda(build):
        cc_files = without_cuda(cc_files)
    found = [*unbuilt(cc_files, compiled, registered_suites(build))]
    found += uncollected(py_files, collect())
    excused = [type for types, _ in NAMED_OTHERWISE for type in types.split()]
    found += [*hard_to_find(ROOT, excused), *astray(ROOT)]
    for line in found:
        print(line)
    print(f"{len(cc_files)} C++ and {len(py_files)} Python test files, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
