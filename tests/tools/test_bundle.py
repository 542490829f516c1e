"""tools/bundle: what it packs runs from another folder, with nothing of this checkout."""

import os
import pathlib
import subprocess
import sys

import pytest
import watched

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    place = tmp_path_factory.mktemp("bundle")
    out = place / "bundle.tar"
    done = watched.run([ROOT / "tools/bundle", ROOT / "build/dev", out, "base_test"])
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run(["tar", "-xf", out, "-C", place], check=True)
    out.unlink()
    return place / "flotilla"


def sh(unpacked, command):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    script = f". {unpacked}/env && {command}"
    done = watched.run(["bash", "-euc", script], cwd=unpacked.parent, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_programs_and_tests_run(unpacked):
    assert sh(unpacked, "command -v fleetrun").strip() == f"{unpacked}/bin/fleetrun"
    assert sh(unpacked, "flotilla --version") == sh(unpacked, "fleetrun --version")
    assert "[  PASSED  ]" in sh(unpacked, "base_test --gtest_filter='*Error*'")


def test_the_package_is_its_own(unpacked):
    with_numpy = f"{os.path.dirname(sys.executable)}/python"
    print_both = "import paddle, _flotilla; print(paddle.__file__, _flotilla.__file__, sep='\\n')"
    for path in sh(unpacked, f'{with_numpy} -c "{print_both}"').splitlines():
        assert path.startswith(f"{unpacked}/python/")


def test_libraries_come_along_but_for_those_of_the_system_and_the_gpu(unpacked):
    names = {path.name.split(".so")[0] for path in (unpacked / "lib").iterdir()}
    assert {"libflotilla", "libdnnl", "libgrpc++", "libfmt"} <= names
    assert not names & {"libc", "libm", "libstdc++", "libgcc_s", "libgomp", "libcudart", "libcuda"}


def test_what_a_gpu_runs_comes_with_its_hashes(unpacked):
    assert (unpacked / "tests/gpu/run").exists()
    assert '"flotilla/device/cuda/stream.cc": "' in (unpacked / "sources.json").read_text()
