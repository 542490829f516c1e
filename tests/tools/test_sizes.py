"""tools/sizes.py counts what git knows, and fails on a file over the hard limit."""

import pathlib
import subprocess
import sys

import pytest
import sizes


def git(root, *words):
    name = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(root), *name, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "flotilla/ir").mkdir(parents=True)
    (tmp_path / "flotilla/ir/a.cc").write_text("x\n" * 10)
    (tmp_path / "flotilla/ir/a_test.cc").write_text("x\n" * 5)
    (tmp_path / "ignored.py").write_text("x\n" * 9000)
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def run(root, *words):
    command = [sys.executable, sizes.__file__, "--root", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_counts_sources_and_tests_apart(repository):
    status, text = run(repository)
    assert status == 0
    assert ["flotilla/ir", "10", "5"] in [line.split() for line in text.splitlines()]


def test_shows_what_a_change_adds(repository):
    (repository / "flotilla/ir/b.cc").write_text("x\n" * 7)
    (repository / "flotilla/ir/a.cc").write_text("x\n" * 9)
    status, text = run(repository, "--base", "HEAD")
    assert status == 0
    assert ["flotilla/ir", "16", "5", "+6"] in [line.split() for line in text.splitlines()]


def test_names_files_over_the_budget_and_fails_over_the_limit(repository):
    (repository / "flotilla/ir/b.cc").write_text("x\n" * 401)
    status, text = run(repository)
    assert status == 0 and "flotilla/ir/b.cc: 401 lines, over the budget of 400" in text
    (repository / "flotilla/ir/b.cc").write_text("x\n" * 801)
    status, text = run(repository, "--quiet")
    assert status == 1 and "flotilla/ir/b.cc: 801 lines, more than 800" in text


def test_this_repository():
    counts = sizes.line_counts(pathlib.Path(sizes.__file__).parents[1])
    assert counts and max(counts.values()) <= sizes.LIMIT
