"""Checks shell commands that documents show: what is cheap is run, the rest is looked up.

`check(command)` gives None, or one sentence on what is wrong with the command.
"""

import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys

import watched
from documents import ROOT

BIN = ROOT / "build/dev/bin"
# What the scripts of the front door hand their arguments to.
FRONT_DOOR = {
    "./demo": "examples/python/demo.py",
    "./test": "tools/run_tests.py",
    "./bench": "benchmarks/run.py",
    ".ci/run": None,
}
# Programs of others: nothing of ours can go stale in their words but files, presets and targets.
FOREIGN = {
    "cd",
    "export",
    "git",
    "gdb",
    "perf",
    "pre-commit",
    "clang-tidy-16",
    "ctest",
    "ls",
    "mpirun",
    "srun",
}
PLACEHOLDER = re.compile(r"^([A-Z][A-Z_]*|<.*>|\.\.\.|…)$")


@functools.cache
def help_of(*command):
    done = watched.run([*command, "--help"], cwd=ROOT)
    if done.returncode:
        raise ValueError(f"{' '.join(command)} --help exits with {done.returncode}: {done.stderr}")
    return done.stdout


def unknown_words(command, arguments):
    """Says which flag among `arguments` `command --help` does not name."""
    if not any(argument.startswith("-") for argument in arguments):
        return None
    text = help_of(*command)
    names = set(re.findall(r"-{0,2}[A-Za-z0-9_][\w-]*", text))
    for argument in arguments:
        name = argument.split("=")[0]
        if argument.startswith("-") and name not in names:
            return f"{' '.join(command)} --help names no {name}"
    return None


def check_script(path, arguments):
    if not (ROOT / path).is_file():
        return f"there is no file {path}"
    return unknown_words((sys.executable, path), arguments)


def check_front_door(program, arguments):
    if not (ROOT / program).is_file():
        return f"there is no {program}"
    if not (ROOT / program).stat().st_mode & 0o100:
        return f"{program} is not executable"
    target = FRONT_DOOR[program]
    return check_script(target, arguments) if target else None


def check_binary(program, arguments):
    """`flotilla WORD WORD ...`: as many words as are subcommands, then flags."""
    command = [str(BIN / program)]
    if not pathlib.Path(command[0]).is_file():
        return f"{BIN / program} is not built"
    rest = list(arguments)
    while rest and re.search(rf"^  {re.escape(rest[0])}\b", help_of(*command), re.MULTILINE):
        if rest[0].startswith("-"):
            break
        command.append(rest.pop(0))
    if len(command) == 1 and rest and not rest[0].startswith("-"):
        return f"{program} --help names no subcommand {rest[0]}"
    problem = unknown_words(tuple(command), rest)
    takes_nothing = not any(PLACEHOLDER.match(word) or not word.startswith("-") for word in rest)
    if problem or not takes_nothing or "REQUIRED" in help_of(*command):
        return problem
    done = watched.run([*command, *rest])
    return f"it exits with {done.returncode}: {done.stderr}" if done.returncode else None


def check_launcher(arguments):
    """`fleetrun [options] script.py ...`: what stands behind the script is the script's."""
    known = set(re.findall(r"--\w+", help_of(str(BIN / "fleetrun")))) | {"--help"}
    for word in arguments:
        if word.endswith(".py") or word == "-m":
            break
        if word.startswith("-") and word.split("=")[0] not in known:
            return f"fleetrun --help names no {word}"
    return None


def check_python(arguments):
    if arguments[:1] == ["-m"]:
        module = ["-c", f"import importlib.util as u; assert u.find_spec({arguments[1]!r})"]
        done = watched.run([sys.executable, *module], cwd=ROOT, text=False)
        if done.returncode:
            return f"python finds no module {arguments[1]}"
        return None if arguments[1] == "pytest" else unknown_words_of_module(arguments)
    if not arguments or arguments[0].startswith("-") or PLACEHOLDER.match(arguments[0]):
        return None
    # A user's own script (train.py) need not be here; one with a folder before it must.
    return check_script(arguments[0], arguments[1:]) if "/" in arguments[0] else None


def unknown_words_of_module(arguments):
    return unknown_words((sys.executable, "-m", arguments[1]), arguments[2:])


def check_cmake(arguments):
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    names = {preset["name"] for preset in presets}
    for word, value in zip(arguments, arguments[1:]):
        if word == "--preset" and value not in names:
            return f"CMakePresets.json has no preset {value}, only {', '.join(sorted(names))}"
        if word in ("--build", "--install") and value.split("/")[-1] not in names:
            return f"{value} is the folder of no preset ({', '.join(sorted(names))})"
    return None


def check_built(program):
    """build/<preset>/bin/<name>; only dev is known to be built."""
    folder, _, file = program.removeprefix("build/").partition("/")
    dev = ROOT / "build/dev" / file
    return check_cmake(["--build", folder]) or (None if dev.is_file() else f"{dev} is not built")


def check_ninja(arguments):
    words = [word for word in arguments if not word.startswith("-") and "/" not in word]
    targets = subprocess.run(
        ["ninja", "-C", ROOT / "build/dev", "-t", "targets", "all"], capture_output=True, text=True
    ).stdout
    unknown = [word for word in words if f"\n{word}: " not in targets]
    return f"ninja knows no target {unknown[0]}" if unknown else None


def packages():
    """Those of tools/setup that the library is built with."""
    text = (ROOT / "tools/setup").read_text()
    return re.search(r"^readonly FLT_LIBRARY_PACKAGES=\(([^)]*)\)", text, re.MULTILINE)[1].split()


def check_packages(arguments):
    """`apt-get install NAME...` names what tools/setup installs to build the library."""
    shown = {word for word in arguments if not word.startswith("-")} - {"install"}
    odd = sorted(shown ^ set(packages()))
    return f"tools/setup disagrees about {', '.join(odd)}" if odd else None


def check(command):
    words = shlex.split(command, comments=True)
    while words and re.match(r"^\w+=", words[0]):
        words.pop(0)  # a variable before the command
    if words[:1] == ["sudo"]:
        words.pop(0)
    if not words:
        return None
    program, arguments = words[0], words[1:]
    if program in FRONT_DOOR:
        return check_front_door(program, arguments)
    if program == "fleetrun" or words[:2] == ["flotilla", "launch"]:
        return check_launcher(words[1:] if program == "fleetrun" else words[2:])
    if program == "flotilla":
        return check_binary(program, arguments)
    if program in ("python", "python3", ".venv/bin/python"):
        return check_python(arguments)
    if program in ("pip", "pip3"):
        ours = "." not in arguments or (ROOT / "pyproject.toml").is_file()
        return None if ours else "there is no pyproject.toml"
    if program == "apt-get":
        return check_packages(arguments)
    if program == "cmake":
        return check_cmake(arguments)
    if program == "ninja":
        return check_ninja(arguments)
    if program.endswith(".py"):
        return check_script(program, arguments)
    if program.startswith("build/"):
        return check_built(program)
    if program in FOREIGN:
        return None
    return f"tests/docs/commands.py does not know how to check {program}"
