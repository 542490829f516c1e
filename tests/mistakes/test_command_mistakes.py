"""Commands of the command line, and the packages that a build needs."""

import pathlib
import re
import subprocess

import pytest
from job import FLEETRUN, ROOT

FLOTILLA = str(pathlib.Path(FLEETRUN).parent / "flotilla")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_typo_in_a_command():
    code, out, err = run(FLOTILLA, "lauch", "train.py")
    assert (code, out) == (2, "")
    assert err == (
        'flotilla: unknown command "lauch". Did you mean "launch"? The commands are launch, '
        "inspect, env, check, serve\n"
    )


@pytest.mark.parametrize("words", [[], ["env", "--nowhere"], ["check", "--nowhere"]])
def test_other_refusals_have_the_code_of_refusals(words):
    assert run(FLOTILLA, *words)[0] == 2


def test_what_can_be_asked_for():
    for words in (["--help"], ["--version"], ["env", "--help"]):
        assert run(FLOTILLA, *words)[0] == 0
    version = run(FLOTILLA, "--version")[1]
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", version)
    assert run(FLEETRUN, "--version") == (0, version, "")


def test_the_columns_of_the_variables():
    code, out, _ = run(FLOTILLA, "env")
    rows = [line for line in out.splitlines() if line]
    assert code == 0 and len(rows) > 50
    values = {re.match(r"\S+ +", row).end() for row in rows}
    assert len(values) == 1, "values do not stand below each other"


def test_the_help_of_the_launcher():
    code, out, _ = run(FLEETRUN, "--help")
    assert code == 0
    titles = re.findall(r"^(\S.*):$", out, re.MULTILINE)
    assert titles == [
        "Processes",
        "Several hosts",
        "Output",
        "Failures",
        "Other options",
    ]
    assert "  fleetrun --nproc_per_node 2 train.py --epochs 3 " in out
    assert "  --nproc_per_node     processes on each host [1, or one per GPU]\n" in out
    assert (
        "  --stall_warning      seconds without progress after which a warning is shown; 0: never "
        "[300]\n" in out
    )
    assert "  --version " in out
    # Every option once.
    options = re.findall(r"^  --(\w+)", out, re.MULTILINE)
    assert len(options) == len(set(options)) and {"gpus", "ips", "log_dir", "json"} <= set(options)


def test_a_build_without_packages():
    command = ["cmake", "-P", str(ROOT / "cmake" / "packages.cmake")]
    assert run(*command)[0] == 0
    code, _, err = run(command[0], "-DCMAKE_IGNORE_PATH=/usr/include", *command[1:])
    assert code == 1
    assert "Flotilla needs packages that are not installed.  On Debian 12:" in err
    line = re.search(r"^ *apt-get install (.*)$", err, re.MULTILINE).group(1).split()
    assert {"libfmt-dev", "libgrpc++-dev", "libdnnl-dev", "librocksdb-dev"} <= set(line)
    # Those that the README names, which builds without tests need.
    readme = (ROOT / "README.md").read_text()
    assert set(line) - {"libgtest-dev", "libgmock-dev"} <= set(re.findall(r"[\w+-]+", readme))
