"""A reader of the documents: types their commands into a shell and looks at what happens."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import printed
import pytest
import watched
from job import FLEETRUN

PRELUDES = pathlib.Path(__file__).parent / "preludes"
DATA = os.environ.get("FLT_TEST_DATA")
FULL = bool(os.environ.get("FLT_TEST_FULL"))
LIMIT = 280  # seconds; a command that does not get on for longer hangs

FOLLOWED = set()  # (document, key) of every command that some test runs


def follows(number, *keys):
    """Marks a test that runs the commands which hold these keys; it gets them as the fixture
    `commands`. Its docstring says in the report what is checked."""
    FOLLOWED.update((number, key) for key in keys)
    return pytest.mark.follows(number, keys)


def adds(number, index, text):
    """Marks a test that runs a program of a document, by a command of our own."""
    return pytest.mark.adds(number, index, text)


def looking_into(folder):
    """The environment in which Python looks into a folder before all others, for sitecustomize.py."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@dataclasses.dataclass
class Done:
    """What a command left behind."""

    out: str  # what it printed, to both streams
    logs: dict  # the files of its log folder, by name

    def __str__(self):
        return "\n".join([self.out, *(f"== {name}\n{text}" for name, text in self.logs.items())])


class Started:
    def __init__(self, command, folder, inside, environment):
        self.folder = folder
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
        programs = [os.path.dirname(FLEETRUN), os.path.dirname(sys.executable), kept["PATH"]]
        self.process = subprocess.Popen(
            [*inside, "sh", "-c", command.text],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={
                **kept,
                **({"FLT_TEST_DATA": DATA} if DATA else {}),
                "PATH": os.pathsep.join(programs),
                "FLT_DOWNLOAD": "0",
                **environment,
            },
        )

    def wait(self, log_dir="log"):
        """Waits for the end, which must be a good one."""
        try:
            out = watched.communicate(self.process, seconds=LIMIT)[0]
        except AssertionError:  # it hangs
            self.close()
            out = self.process.communicate()[0]
        logs = {path.name: path.read_text() for path in sorted(self.folder.glob(f"{log_dir}/*"))}
        done, code = Done(out, logs), self.process.returncode
        assert code == 0, f"exit code {code}\n{done}"
        return done

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Reader:
    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def write(self, name, text, folder=None):
        """Saves a program as the document says."""
        (folder or self.folder).joinpath(name).write_text(text)

    def take(self, *names):
        """Puts what a document leaves undefined beside its programs."""
        for name in names:
            shutil.copy(PRELUDES / name, self.folder)

    def start(self, command, folder=None, inside=(), **environment):
        self.started.append(Started(command, folder or self.folder, inside, environment))
        return self.started[-1]

    def run(self, command, log_dir="log", **environment):
        return self.start(command, **environment).wait(log_dir)

    def close(self):
        for one in self.started:
            one.close()


# What differs from run to run, and from machine to machine.
VARIABLE = [
    (r"^[IWE]\d{4} [\d:.]+ +\d+ \S+?\.cc(:\d+)?\]", "W file]"),
    (r"^(INFO|WARNING) [\d-]+ [\d:,]+ \S+:\d+\]", r"\1 file]"),
    (r"/tmp/\S+", "/tmp/"),
    (r"\d+", "0"),
    (r"\s+", " "),
]
# What Flotilla says on a machine without GPUs.
WITHOUT_GPU = {"and compiled with cuda": "and not compiled with cuda", "in GPU mode": "in CPU mode"}


def shape_of(line):
    """A line without what varies, so that two runs can be compared."""
    for shown, ours in WITHOUT_GPU.items():
        line = line.replace(shown, ours)
    for pattern, instead in VARIABLE:
        line = re.sub(pattern, instead, line.strip())
    return line.strip()


def missing_lines(block, done, left_out=()):
    """The lines that a document shows and that a run has not printed; not those with a word of
    `left_out`."""
    found = {shape_of(line) for line in str(done).splitlines()}
    return [
        line
        for line in block.text.splitlines()
        if shape_of(line) not in found | {"...", ""} and not any(word in line for word in left_out)
    ]


def output(number):
    """What the only such block of a document shows as printed."""
    (block,) = printed.outputs(number)
    return block
