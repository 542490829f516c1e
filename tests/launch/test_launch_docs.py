"""docs/launch.md says what is: its commands run and its options exist."""

import os
import re
import shlex
import sys

import pytest
import watched
from job import FLEETRUN, ROOT

TEXT = (ROOT / "docs" / "launch.md").read_text()
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("fleetrun") and "10.0.0." not in line  # test_hosts.py has several hosts
]

# --epochs is the script's, --help takes no value, and names with dashes are of other programs.
OPTIONS = set(re.findall(r"(?<![\w-])--[a-z_]+(?![\w-])", TEXT)) - {"--epochs", "--help"}


def run(words, folder):
    env = {**os.environ, "FLT_PYTHON": sys.executable, "PYTHONPATH": str(folder)}
    return watched.run([FLEETRUN, *words], cwd=folder, env=env)


def test_there_are_commands():
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(tmp_path, command):
    (tmp_path / "train.py").write_text("print('trains')")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("print('trains')")
    done = run(shlex.split(command)[1:], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "trains" in done.stdout + "".join(p.read_text() for p in tmp_path.glob("log/*"))


@pytest.mark.parametrize("option", sorted(OPTIONS))
def test_the_options_exist(tmp_path, option):
    done = run([f"{option}=1"], tmp_path)
    assert done.returncode in (0, 2)
    assert "has no option" not in done.stderr
