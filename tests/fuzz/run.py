#!/usr/bin/env python3
"""Builds the fuzzers with clang and libFuzzer, and runs each for a bounded time.

    tests/fuzz/run.py [--runs N | --seconds N] [--jobs N] [fuzzer ...]

The seed is fixed and what a run finds is thrown away, so that the same number of runs does the
same work. Exits with 1 after a crash, a leak or a hang, and prints where the input that caused it
lies: give that file to the binary under build/fuzz to see it again. Seeds for a fuzzer are the
files under corpus/<name>, where the fuzzer is fuzz_<name>.cc; <name>.dict holds words it may try.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
BUILD = ROOT / "build" / "fuzz"

# What a fuzzer links of the core.
FOLDERS = ["base", "ir"]
LIBRARIES = ["protobuf", "fmt", "spdlog", "pthread"]
FLAGS = [
    "-std=c++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined",
    "-fno-sanitize-recover=all -Wall -Wextra -Werror",
    "-DFMT_SHARED -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -DSPDLOG_SHARED_LIB",
    "-I$root -isystem $fuzz/generated",
]


def fuzzers():
    return sorted(path.stem for path in HERE.glob("fuzz_*.cc"))


def compiler():
    for name in ("clang++-16", "clang++"):
        if shutil.which(name):
            return name
    sys.exit("fuzzing needs clang 16 or newer: install clang-16 and libclang-rt-16-dev")


def sources_and_protos():
    folders = [ROOT / "flotilla" / folder for folder in FOLDERS]
    sources = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*.cc"))
        if not path.name.endswith("_test.cc") and path.parent.name not in ("cuda", "nccl")
    ]
    return sources, [path for folder in folders for path in sorted(folder.glob("*.proto"))]


def ninja_text():
    """The whole build, as ninja reads it."""
    ccache = "ccache " if shutil.which("ccache") else ""
    lines = [
        f"root = {ROOT}",
        f"fuzz = {BUILD}",
        f"flags = {' '.join(FLAGS)}",
        "rule compile",
        f"  command = {ccache}{compiler()} $flags $extra -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule link",
        f"  command = {compiler()} -fsanitize=address,undefined,fuzzer $in -o $out $libs",
        "rule protoc",
        "  command = cd $root && protoc -I . --cpp_out=$fuzz/generated $proto",
    ]
    objects, generated = [], []
    sources, protos = sources_and_protos()
    for proto in protos:
        path = proto.relative_to(ROOT)
        stem = f"$fuzz/generated/{path.with_suffix('.pb')}"
        lines += [f"build {stem}.cc {stem}.h: protoc {proto}", f"  proto = {path}"]
        generated.append(f"{stem}.h")
        lines += compile_rule(f"{stem}.cc", f"$fuzz/{path.with_suffix('.pb.o')}", objects, "-w")
    for source in sources:
        target = f"$fuzz/{source.relative_to(ROOT).with_suffix('.o')}"
        lines += compile_rule(str(source), target, objects, "-fsanitize=fuzzer-no-link", generated)
    for fuzzer in fuzzers():
        main = []
        lines += compile_rule(str(HERE / f"{fuzzer}.cc"), f"$fuzz/{fuzzer}.o", main, "", generated)
        lines += [
            f"build $fuzz/{fuzzer}: link {' '.join(main + objects)}",
            f"  libs = {' '.join('-l' + library for library in LIBRARIES)}",
        ]
    return "\n".join(lines) + "\n"


def compile_rule(source, target, objects, extra, generated=()):
    objects.append(target)
    after = f" || {' '.join(generated)}" if generated else ""
    return [
        f"build {target}: compile {source}{after}",
        f"  extra = {extra}",
    ]


def build(jobs):
    (BUILD / "generated").mkdir(parents=True, exist_ok=True)
    (BUILD / "build.ninja").write_text(ninja_text())
    command = ["ninja", "-C", str(BUILD), f"-j{jobs}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout[-8000:])
        sys.exit("the fuzzers do not build")


def run(fuzzer, runs, seconds):
    """True where nothing was found."""
    name = fuzzer.removeprefix("fuzz_")
    found = BUILD / "found" / name
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    crashes = BUILD / "crashes"
    crashes.mkdir(exist_ok=True)
    command = [
        str(BUILD / fuzzer),
        "-seed=1",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=4096",
        f"-artifact_prefix={crashes}/{name}-",
        f"-max_total_time={seconds}" if seconds else f"-runs={runs}",
        str(found),
        str(HERE / "corpus" / name),
    ]
    if (HERE / f"{name}.dict").exists():
        command.insert(1, f"-dict={HERE / f'{name}.dict'}")
    before = set(crashes.iterdir())
    start = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    took = time.monotonic() - start
    if done.returncode == 0:
        print(f"{fuzzer}: {took:.0f} s, nothing found")
        return True
    print(done.stdout[-6000:])
    for path in sorted(set(crashes.iterdir()) - before) or ["(no file was written)"]:
        print(f"{fuzzer}: FAILED with status {done.returncode}; the input: {path}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--runs", type=int, default=20000, help="inputs for each fuzzer")
    bound.add_argument("--seconds", type=int, help="time for each fuzzer")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("fuzzer", nargs="*", help="e.g. fuzz_text; all by default")
    options = parser.parse_args()
    unknown = set(options.fuzzer) - set(fuzzers())
    if unknown:
        sys.exit(f"there is no {sorted(unknown)[0]}; there are: {', '.join(fuzzers())}")
    build(options.jobs)
    results = [run(f, options.runs, options.seconds) for f in options.fuzzer or fuzzers()]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
