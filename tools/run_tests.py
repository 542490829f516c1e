"""Runs the test suites one after the other and closes with one line of totals.

    ./test [--full] [NAME]

A suite gives a list of Result; a suite that cannot even start is one failed Result. The exit code
is 0 only if nothing failed and something ran.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import compile_kernels
import try_pythons
from watched import run_watched

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folders of Python tests that mostly wait for jobs: each of their files is run by itself.
JOBS = "launch servers".split()
# What takes longest begins first: folders and files of Python tests and binaries of C++ ones.
SLOW = """test_server_saves test_server_soak launch servers spec examples docs python comm_test
    job_test rpc_test""".split()
AT_A_TIME = 3
FUZZ_RUNS, FUZZ_RUNS_FULL = 10_000, 2_000_000
FUZZ_SECONDS, FUZZ_SECONDS_FULL = 4, 120
# The fuzzers of programs reach every operator: they get more, shared out to the cores.
LONG_FUZZERS = ("run_program_fuzz", "infer_fuzz")
LONG_RUNS, LONG_SECONDS, LONG_SECONDS_FULL = 1_000_000, 30, 3600
# Needs the operators, too, but bends few models.
MODEL_FUZZER = "predictor_fuzz"


@dataclasses.dataclass
class Result:
    name: str
    outcome: str  # "passed", "failed" or "skipped"
    detail: str = ""  # why it was skipped, or what it printed when it failed


def run(command, cwd=ROOT):
    """Runs `command` in the repository and returns it with its output."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def check(name, command, cwd=ROOT):
    """A command as a test: it passes if it exits with 0."""
    done = run(command, cwd)
    return [Result(name, "failed" if done.returncode else "passed", done.stdout)]


def read_junit(path, prefix=""):
    """The test cases of a JUnit file, as googletest, ctest and pytest write them."""
    results = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        module, test = case.get("classname", ""), case.get("name")
        name = prefix + (
            test if module in ("", test) else f"{module}.{test}"
        )  # ctest says it twice
        broken = [*case.iter("failure"), *case.iter("error")]
        skipped = case.find("skipped")
        output = case.findtext("system-out") or ""
        if broken:
            texts = [tag.text or tag.get("message") or "" for tag in broken]
            results.append(Result(name, "failed", "\n".join([*texts, output])))
        elif skipped is not None or case.get("status") == "notrun":
            results.append(Result(name, "skipped", skip_reason(skipped, output)))
        else:
            results.append(Result(name, "passed"))
    return results


def skip_reason(tag, output):
    """pytest gives the reason as a message; googletest prints it after a line ending in Skipped."""
    lines = output.splitlines()
    for number, line in enumerate(lines[:-1]):
        if line.endswith(": Skipped"):
            return lines[number + 1].strip()
    return (tag.get("message") or "no reason given") if tag is not None else "did not run"


def own_tests(pattern):
    """The C++ tests of the dev preset and the Python tests: a process for each binary (one for each
    test would take ten times as long to start as most tests take) and for each folder, or file of
    JOBS, several at a time, since jobs mostly wait."""
    binaries = (ROOT / "build/dev/bin").glob("*_test")
    files = (ROOT / "tests").glob("*/test_*.py")
    pythons = {path if path.parent.name in JOBS else path.parent for path in files}

    def place_in_line(path):
        places = [SLOW.index(name) for name in (path.stem, path.parent.name) if name in SLOW]
        return (min(places, default=len(SLOW)), path.name)

    def results_of(path):
        return (pytest_results if path in pythons else gtest_results)(path, pattern)

    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        found = pool.map(results_of, sorted([*binaries, *pythons], key=place_in_line))
        return [result for results in found for result in results]


def gtest_results(binary, pattern):
    folder = binary.name.removesuffix("_test")
    pattern = "" if pattern in folder else pattern.removeprefix(f"{folder}.")
    with tempfile.TemporaryDirectory() as place:
        junit = pathlib.Path(place, "gtest.xml")
        # What is disabled are parts of other tests: what their child processes do.
        chosen = f"--gtest_filter=*{pattern}*-*DISABLED_*"
        command = [binary, f"--gtest_output=xml:{junit}", chosen]
        done = run_watched(command, cwd=place)
        if not junit.exists():
            return [Result(binary.name, "failed", f"{done.stdout}exit status {done.returncode}")]
        results = read_junit(junit, f"{folder}.")
        good = done.returncode == 0 or any(result.outcome == "failed" for result in results)
        return results if good else [*results, Result(binary.name, "failed", done.stdout)]


def sanitized_tests(preset):
    """The C++ tests of a sanitizer's preset, a process for each."""
    with tempfile.TemporaryDirectory() as folder:
        junit = pathlib.Path(folder, "ctest.xml")
        command = ["ctest", "--test-dir", f"build/{preset}", "-j", "2", "--output-junit", junit]
        done = run(command + ["--test-output-size-failed", "100000"])
        if not junit.exists():
            return [Result(f"{preset}: ctest", "failed", done.stdout)]
        return read_junit(junit, f"{preset}: ")


def build_and_test(preset):
    """Configures and builds another preset, then runs its unit tests."""
    for command in (["cmake", "--preset", preset], ["ninja", "-C", f"build/{preset}"]):
        done = run(command)
        if done.returncode:
            return [Result(f"{preset}: {command[0]}", "failed", done.stdout)]
    return sanitized_tests(preset)


def pytest_results(path, pattern):
    with tempfile.TemporaryDirectory() as place:
        junit = pathlib.Path(place, "pytest.xml")
        command = [sys.executable, "-m", "pytest", "-q", "--junitxml", junit, path]
        done = run(command + (["-k", pattern] if pattern else []))
        if not junit.exists() or (done.returncode not in (0, 1, 5)):
            return [Result(f"pytest {path.name}", "failed", done.stdout)]
        return read_junit(junit)


def checks():
    return [
        *check("tools/check_layers.py", [sys.executable, "tools/check_layers.py"]),
        *check("tools/sizes.py", [sys.executable, "tools/sizes.py", "--quiet"]),
        *check("tools/check_tests.py", [sys.executable, "tools/check_tests.py"]),
    ]


def fuzz(full):
    """Each fuzzer for a bounded number of runs and seconds, with a fixed seed."""
    runs, seconds = (FUZZ_RUNS_FULL, FUZZ_SECONDS_FULL) if full else (FUZZ_RUNS, FUZZ_SECONDS)
    known = sorted(path.stem for path in ROOT.glob("tests/fuzz/*_fuzz.cc"))
    others = [name for name in known if name not in (*LONG_FUZZERS, MODEL_FUZZER)]
    command = [sys.executable, "tests/fuzz/run.py"]
    results = check(
        "tests/fuzz/run.py", [*command, f"--runs={runs}", f"--seconds={seconds}", *others]
    )
    # Not libFuzzer's: clang takes longer to compile all operators than the other tests take, and
    # following what each program covers takes ten times as long as running it.
    preset = "asan" if full else "dev"
    limits = [f"--preset={preset}", f"--runs={runs}", f"--seconds={seconds}", "--shared"]
    name = f"tests/fuzz/run.py {MODEL_FUZZER}"
    results += check(name, [*command, *limits, MODEL_FUZZER])
    seconds = LONG_SECONDS_FULL if full else LONG_SECONDS
    limits = [f"--preset={preset}", f"--runs={LONG_RUNS}", f"--seconds={seconds}", "--shared"]
    # The seconds keep a hang from lasting: all of the programs must have been run before.
    limits += [f"--at-least={LONG_RUNS}"] if full else []
    for name in LONG_FUZZERS:
        results += check(f"tests/fuzz/run.py {name}", [*command, *limits, name])
    return results


def kernels():
    """The sources of CUDA, where there is nvcc."""
    return [Result(f"compiles: {name}", *rest) for name, *rest in compile_kernels.results()]


def round_trips():
    """Programs and parameters to real Paddle and back: every tools/oracle/round_trip*.py."""
    results = []
    for script in sorted(ROOT.glob("tools/oracle/round_trip*.py")):
        done = run([sys.executable, script])
        name = f"oracle: {script.stem}"
        # 77 is the exit code by which a script says that it was skipped, and its last line why.
        outcome = {0: "passed", 77: "skipped"}.get(done.returncode, "failed")
        last = (done.stdout.strip().splitlines() or ["no reason given"])[-1]
        results.append(Result(name, outcome, last if outcome == "skipped" else done.stdout))
    return results


def pythons():
    """The package, built and tested with every Python and numpy that it promises."""
    found = try_pythons.trials()
    return [Result(trial.name, trial.outcome, trial.detail) for trial in found]


def lint():
    """pre-commit over what is committed, in a clone: its hooks rewrite the files they disagree with."""
    done = run([sys.executable, "-m", "pip", "install", "-q", "pre-commit>=3,<5"])
    if done.returncode:
        return [Result("pre-commit", "failed", done.stdout)]
    with tempfile.TemporaryDirectory() as clone:
        done = run(["git", "clone", "-q", ROOT, clone])
        if done.returncode:
            return [Result("pre-commit", "failed", done.stdout)]
        command = [sys.executable, "-m", "pre_commit", "run", "-a", "--show-diff-on-failure"]
        return check("pre-commit", command, cwd=clone)


def suites(full, pattern):
    """(title, function) in the order in which they run."""
    yield "C++ and Python tests", lambda: own_tests(pattern)
    if pattern:
        return
    yield "layers, sizes, files left out", checks
    yield "fuzzers", lambda: fuzz(full)
    yield "sources of CUDA, compiled", kernels
    if full:
        yield "address and undefined-behaviour sanitizers", lambda: build_and_test("asan")
        yield "thread sanitizer", lambda: build_and_test("tsan")
        yield "round trips with Paddle", round_trips
        yield "other Pythons and numpys", pythons
        yield "lints", lint


def report(title, results, seconds):
    count = {kind: sum(r.outcome == kind for r in results) for kind in ("passed", "failed")}
    print(f"  {title}: {count['passed']} of {len(results)} passed ({seconds:.0f} s)", flush=True)
    for result in results:
        if result.outcome == "failed":
            print(f"\nFAILED {result.name}\n{result.detail.rstrip()}\n", flush=True)


def close(results):
    """Prints the skips and the totals; the value is the exit code."""
    skipped = [r for r in results if r.outcome == "skipped"]
    failed = [r for r in results if r.outcome == "failed"]
    if skipped:
        print("Skipped, and why:")
    for result in skipped:
        print(f"  {result.name}: {result.detail}")
    if failed:
        print("Failed:")
    for result in failed:
        print(f"  {result.name}")
    passed = len(results) - len(failed) - len(skipped)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not results else 0


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Runs Flotilla's tests.")
    parser.add_argument("--full", action="store_true", help="sanitizers, long fuzzing, round trips")
    parser.add_argument("name", nargs="?", default="", help="run only tests whose name matches")
    options = parser.parse_args()
    os.environ["FLT_TEST_FULL"] = "1" if options.full else ""
    # The threads that numpy starts for products cost each of the many processes a third of its start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    results = []
    for title, suite in suites(options.full, options.name):
        started = time.monotonic()
        found = suite()
        results += found
        if found:
            report(title, found, time.monotonic() - started)
    if not results:
        print(f'no test has a name that matches "{options.name}"')
    return close(results)


if __name__ == "__main__":
    sys.exit(main())
