"""Builds the package for every Python that it promises, and tests it with old and new numpys.

    tools/try_pythons.py [--keep FOLDER] [VERSION...]

For each version whose interpreter is found (on the PATH, or among pyenv's): `pip wheel` in a clone
of what is committed, then for each numpy a fresh environment with nothing but the wheel, numpy and
pytest, in which the wheel must stand on its own and tests/python must pass. The C++ library is
compiled with the flags of the dev preset, so that ccache gives it to all of them; only the module
is compiled anew for each Python. A version without an interpreter is skipped.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# By Python: old and new numpys that have a wheel for it, from the oldest that pyproject.toml allows
# to the newest there is, so that each side is met by more than one Python.
NUMPYS = {
    "3.9": ["1.21.0", "2.0.2"],
    "3.10": ["2.2.*"],
    "3.11": ["1.23.2"],
    "3.12": ["1.26.0"],
    "3.13": ["2.*"],
}
# Compiler and flags of the dev preset: with them the library comes from ccache. Without, each Python
# would name the compiler that it was built with itself.
BUILD = {
    "cmake.define.CMAKE_CXX_COMPILER": os.environ.get("CXX", "c++"),
    "cmake.build-type": "RelWithDebInfo",
    "cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O3 -g1",
    "install.strip": "true",
}

# What a user's environment must hold. Runs there, in an empty folder.
STANDS_ALONE = """
import pathlib, shutil, subprocess, sys, sysconfig
import numpy, paddle, _flotilla

clone = sys.argv[1]
site = pathlib.Path(sysconfig.get_path("platlib"))
scripts = pathlib.Path(sysconfig.get_path("scripts"))
assert pathlib.Path(paddle.__file__) == site / "paddle/__init__.py", paddle.__file__
assert pathlib.Path(_flotilla.__file__).parent == site, _flotilla.__file__
for name in ("_flotilla.pyi", "paddle/py.typed", "libflotilla.so"):
    assert (site / name).is_file(), f"{name} is not in the wheel"
assert "class" in (site / "_flotilla.pyi").read_text()
for name in ("flotilla", "fleetrun"):
    assert shutil.which(name, path=str(scripts)), f"{name} is not among the scripts"
    done = subprocess.run([scripts / name, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage" in done.stdout.lower(), done
for path in (_flotilla.__file__, site / "libflotilla.so", scripts / "flotilla"):
    assert clone.encode() not in pathlib.Path(path).read_bytes(), f"{path} names {clone}"
with open("/proc/self/maps") as maps:
    assert clone not in maps.read()
print(numpy.__version__)
"""


@dataclasses.dataclass
class Trial:
    name: str  # "Python 3.9, numpy 1.21.0"
    outcome: str  # "passed", "failed" or "skipped"
    detail: str = ""


class Failed(Exception):
    """A command failed; the text is what it printed."""


def run(command, cwd, **environment):
    # An outer environment must not leak into the ones that are tried.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**env, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise Failed(f"$ {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def find_python(version):
    """An interpreter of this version that can make environments, or None."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    probe = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for python in filter(None, candidates):
        try:
            if run([python, "-c", probe], ROOT).strip() == version:
                return python
        except (Failed, OSError):  # one of pyenv's shims, perhaps, for a version that is off
            continue
    return None


def pip(venv, *words):
    run([venv / "bin/python", "-m", "pip", "--disable-pip-version-check", *words], venv)


def build_wheel(version, python, clone, work):
    """The wheel, with the environment that built it left in `work`."""
    venv, wheels = work / f"build-{version}", work / f"wheel-{version}"
    run([python, "-m", "venv", venv], work)
    pip(venv, "install", "-q", "scikit-build-core>=0.10,<1", "nanobind>=2.2,<3")
    options = [f"--config-settings={key}={value}" for key, value in BUILD.items()]
    # As deep in the repository as build/dev is: ccache compares relative paths.
    options += [f"--config-settings=build-dir=build/py{version}"]
    options += ["--no-build-isolation", "--no-deps", "-w", wheels]
    pip(venv, "wheel", *options, clone)
    (wheel,) = wheels.glob("flotilla-*.whl")
    return wheel


def try_numpy(version, numpy, python, wheel, clone, work):
    """What the tests said in their last line."""
    venv, empty = work / f"{version}-{numpy.replace('*', 'x')}", work / "empty"
    empty.mkdir(exist_ok=True)
    run([python, "-m", "venv", venv], work)
    pip(venv, "install", "-q", "--only-binary", ":all:", f"numpy=={numpy}", "pytest>=7,<9", wheel)
    found = run([venv / "bin/python", "-c", STANDS_ALONE, clone], empty).split()[-1]
    path = f"{venv / 'bin'}:{os.environ['PATH']}"
    said = run([venv / "bin/python", "-m", "pytest", "-q", "tests/python"], clone, PATH=path)
    return f"numpy {found}, wheel {wheel.stat().st_size / 2**20:.1f} MiB, " + said.splitlines()[-1]


def try_version(version, clone, work):
    python = find_python(version)
    if python is None:
        name = f"Python {version}"
        return [Trial(name, "skipped", f"there is no python{version} on this machine")]
    try:
        wheel = build_wheel(version, python, clone, work)
    except Failed as error:
        return [Trial(f"Python {version}", "failed", str(error))]
    found = []
    for numpy in NUMPYS[version]:
        name = f"Python {version}, numpy {numpy}"
        try:
            said = try_numpy(version, numpy, python, wheel, clone, work)
            found.append(Trial(name, "passed", said))
        except Failed as error:
            found.append(Trial(name, "failed", str(error)))
    return found


def trials(versions=tuple(NUMPYS), keep=None):
    """One Trial after the other, in the order of `versions`."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(keep or folder).resolve()
        clone = work / "clone"
        shutil.rmtree(clone, ignore_errors=True)
        run(["git", "clone", "-q", ROOT, clone], work)
        # Tests of one wheel wait, and use one processor, while the next one is built.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for found in pool.map(lambda version: try_version(version, clone, work), versions):
                yield from found


def main():
    parser = argparse.ArgumentParser(description="The package with every Python and numpy.")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder and leave it")
    parser.add_argument("versions", nargs="*", default=tuple(NUMPYS), choices=[[], *NUMPYS])
    options = parser.parse_args()
    failed, started = 0, time.monotonic()
    for trial in trials(options.versions, options.keep):
        print(f"{trial.name}: {trial.outcome}: {trial.detail}", flush=True)
        failed += trial.outcome == "failed"
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
