"""Compiles what only the cuda preset does, for one kind of GPU and without optimizing it.

    tools/compile_kernels.py [NAME]

That is every *.cu and every *.cc in a folder named cuda or nccl, or those whose path contains NAME;
without tests, which need the whole library. Nothing is linked and nothing is run, so no GPU is
needed, but nvcc: without it the one result is a skip. The build folder is its own: that of the
preset is for the GPUs that its user has.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/kernels"
NVCC = "/usr/local/cuda/bin/nvcc"
# As of the cuda preset, but for what makes code fast: that takes three times as long.
SETTINGS = (
    "CMAKE_BUILD_TYPE=None CMAKE_CUDA_ARCHITECTURES=90 CMAKE_CUDA_FLAGS=-Xptxas=-O0 FLT_PYTHON=OFF"
).split()
OF_CUDA = re.compile(r"\.cu$|/(cuda|nccl)/[^/]*(?<!_test)\.cc$")
TESTING = "flotilla/testing/"
MADE = re.compile(r" -o (\S+)")
# What ninja shows of each that fails: its command and what that printed.
FAILED = re.compile(
    r"^FAILED: (\S+).*?\n(.*?)(?=^\[\d+/\d+\] |^FAILED: |^ninja: |\Z)", re.MULTILINE | re.DOTALL
)


def run(*command):
    return subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def objects(commands, name=""):
    """What ninja makes of sources of CUDA, by their path: the entries of compile_commands.json."""
    found = {}
    for entry in commands:
        path = pathlib.Path(entry["file"])
        source = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
        if OF_CUDA.search(source) and name in source and not source.startswith(TESTING):
            found[source] = MADE.search(entry["command"]).group(1)
    return dict(sorted(found.items()))


def results(name=""):
    """(source, outcome, detail) of each, as tools/run_tests.py has them."""
    if shutil.which("nvcc") is None and not pathlib.Path(NVCC).exists():
        return [("sources of CUDA", "skipped", "there is no nvcc on this machine")]
    settings = [f"-D{setting}" for setting in SETTINGS]
    done = run("cmake", "--preset", "cuda", "-B", BUILD, *settings)
    if done.returncode:
        return [("sources of CUDA: cmake", "failed", done.stdout)]
    wanted = objects(json.loads((BUILD / "compile_commands.json").read_text()), name)
    done = run("ninja", "-C", BUILD, "-k", "0", *wanted.values())
    failed = dict(FAILED.findall(done.stdout))
    if done.returncode and not failed.keys() & set(wanted.values()):
        return [("sources of CUDA: ninja", "failed", done.stdout)]
    return [
        (source, "failed", failed[made]) if made in failed else (source, "passed", "")
        for source, made in wanted.items()
    ]


def main():
    found = results(*sys.argv[1:2])
    for _, _, detail in found:
        print(detail, end="")
    bad = [source for source, outcome, _ in found if outcome == "failed"]
    print(f"{len(found)} sources of CUDA, {len(bad)} that do not compile: {', '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
