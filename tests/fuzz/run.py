#!/usr/bin/env python3
"""Builds the fuzzers with clang and libFuzzer, and runs each for a bounded time.

    tests/fuzz/run.py [--runs N] [--seconds N] [--at-least N] [--shared] [--preset NAME] [fuzzer ...]

A fuzzer stops at whichever bound it meets first. The seed is fixed and what a run finds is thrown
away, so that the same number of runs does the same work. Exits with 1 after a crash, a leak or a
hang, and prints where the input that caused it lies: give that file to the binary under
build/fuzz/bin to see it again; with --at-least also where time ran out before that many programs,
which the fuzzers of programs count, were run. With --shared as many processes as there are cores share
the runs of a fuzzer, each with a seed of its own. <name>_fuzz.cc starts from the files under
corpus/<name>, and may try the words in <name>.dict. Other presets than fuzz have run_program_fuzz,
infer_fuzz and predictor_fuzz alone, driven by drive.cc.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
# drive.cc keeps the input when the process aborts; left to themselves, sanitizers exit.
ONE_THREAD_THAT_ABORTS = {
    "OMP_NUM_THREADS": "1",
    "ASAN_OPTIONS": "abort_on_error=1",
    "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
}


def run_quietly(command):
    return subprocess.run(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **ONE_THREAD_THAT_ABORTS},
    )


def build(preset, fuzzers):
    ninja = ["ninja", "-C", f"build/{preset}", "-j2", *fuzzers]
    for command in (["cmake", "--preset", preset], ninja):
        done = run_quietly(command)
        if done.returncode:
            print(done.stdout[-8000:])
            sys.exit("the fuzzers do not build")


def command_of(binary, seed, runs, seconds, found, crashes):
    name = binary.name.removesuffix("_fuzz")
    command = [str(binary), f"-seed={seed}", "-timeout=10", "-rss_limit_mb=4096"]
    # Weighing inputs by how rare their features are took nine tenths of the time, and naming new
    # functions a part of the rest.
    command += ["-entropic=0", "-print_funcs=0"]
    command += [f"-runs={runs}"] if runs else []
    command += [f"-max_total_time={seconds}"] if seconds else []
    command += [f"-artifact_prefix={crashes}/{name}-"]
    words, corpus = HERE / f"{name}.dict", HERE / "corpus" / name
    command += [f"-dict={words}"] if words.exists() else []
    return command + [found] + ([str(corpus)] if corpus.is_dir() else [])


def fuzz(preset, fuzzer, seed, runs, seconds):
    """How many programs were run, where the fuzzer counts them; None where something was found."""
    binary = ROOT / "build" / preset / "bin" / fuzzer
    crashes = binary.parents[1] / "crashes"
    crashes.mkdir(exist_ok=True)
    mine = f"{fuzzer.removesuffix('_fuzz')}-*"
    before = set(crashes.glob(mine))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as found:
        done = run_quietly(command_of(binary, seed, runs, seconds, found, crashes))
    if done.returncode == 0:
        print(f"{fuzzer}: {time.monotonic() - start:.0f} s, nothing found", flush=True)
        counted = [line for line in done.stdout.splitlines() if line.startswith("programs:")]
        print("\n".join(counted), flush=True)
        return sum(int(re.match(r"programs: (\d+)", line)[1]) for line in counted)
    print(done.stdout[-6000:])
    for path in sorted(set(crashes.glob(mine)) - before) or ["none was written"]:
        print(f"{fuzzer}: failed with status {done.returncode}; the input: {path}", flush=True)
    return None


def main():
    known = sorted(path.stem for path in HERE.glob("*_fuzz.cc"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, help="inputs for each; 20000 unless --seconds is given")
    parser.add_argument("--seconds", type=int, help="time for each")
    parser.add_argument("--at-least", type=int, default=0, help="programs that must be run in all")
    parser.add_argument("--shared", action="store_true", help="one process for each core")
    parser.add_argument("--preset", default="fuzz", help="the build; fuzz by default")
    parser.add_argument("fuzzer", nargs="*", help=f"of {', '.join(known)}; all by default")
    options = parser.parse_args()
    unknown = sorted(set(options.fuzzer) - set(known))
    if unknown:
        sys.exit(f"there is no {unknown[0]}; there are: {', '.join(known)}")
    fuzzers = options.fuzzer or known
    runs = options.runs or (None if options.seconds else 20000)
    build(options.preset, fuzzers)
    cores = os.cpu_count() or 1
    shares = cores if options.shared else 1
    work = [(fuzzer, seed) for fuzzer in fuzzers for seed in range(1, shares + 1)]
    each = runs and -(-runs // shares)
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        counts = list(pool.map(lambda one: fuzz(options.preset, *one, each, options.seconds), work))
    total = sum(count or 0 for count in counts)
    if total:
        print(f"{total} programs in all", flush=True)
    if None in counts:
        sys.exit(1)
    if total < options.at_least:
        sys.exit(f"{options.at_least} programs were to be run, but time ran out after {total}")


if __name__ == "__main__":
    main()
