"""tools/try_pythons.py covers what pyproject.toml promises, and skips what is not there."""

import re
import sys

import try_pythons

PYPROJECT = (try_pythons.ROOT / "pyproject.toml").read_text()


def test_the_oldest_python_is_the_one_that_is_promised():
    oldest = re.search(r'requires-python = ">=([0-9.]+)"', PYPROJECT).group(1)
    assert next(iter(try_pythons.NUMPYS)) == oldest


def test_the_oldest_numpy_is_the_one_that_is_promised():
    oldest = re.search(r'"numpy>=([0-9.]+),<3"', PYPROJECT).group(1)
    numpys = [numpy for few in try_pythons.NUMPYS.values() for numpy in few]
    assert min(numpys) == f"{oldest}.0"


def test_an_interpreter_is_found_by_its_version():
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert try_pythons.find_python(version) is not None


def test_a_version_without_an_interpreter_is_skipped(tmp_path):
    (trial,) = try_pythons.try_version("3.99", tmp_path, tmp_path)
    assert (trial.outcome, trial.detail) == ("skipped", "there is no python3.99 on this machine")
