"""Runs real jobs for the tests of the launcher, and looks at what they leave behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import watched

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLEETRUN = os.environ.get("FLT_FLEETRUN", str(ROOT / ".venv" / "bin" / "fleetrun"))


def find_processes(*variables):
    """The processes with all of these variables, "NAME=value"."""
    wanted = {variable.encode() for variable in variables}
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                state = re.search(r"\) (\w)", (entry / "stat").read_text()).group(1)
                if state != "Z":
                    found.append(int(entry.name))
        except (OSError, AttributeError):
            continue  # it has ended meanwhile
    return found


def wait_for_process(*variables):
    """A process with these variables, as soon as there is one."""
    there = watched.wait_until(lambda: find_processes(*variables), f"no process with {variables}")
    return there[0]


class Job:
    """A job that runs in `folder`, with a mark by which its processes are found in /proc."""

    count = 0

    def __init__(self, folder, options, script, arguments=(), inside=(), **environment):
        Job.count += 1
        self.mark = f"flt-test-{os.getpid()}-{Job.count}-{time.monotonic_ns()}"
        self.folder = folder
        path = pathlib.Path(folder, "script.py")
        path.write_text(textwrap.dedent(script))
        self.started = time.monotonic()
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "FLT_"))}
        self.process = subprocess.Popen(
            [*inside, FLEETRUN, *options, str(path), *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **variables,
                "FLT_TEST_MARK": self.mark,
                "FLT_PYTHON": sys.executable,
                **environment,
            },
        )

    def wait(self):
        """Waits for the end of the launcher; the value is its exit code."""
        self.out, self.err = watched.communicate(self.process)
        self.seconds = time.monotonic() - self.started
        return self.process.returncode

    def result(self):
        """What --json printed."""
        return json.loads(self.out.strip().splitlines()[-1])

    def log(self, name):
        return pathlib.Path(self.folder, "log", name).read_text()

    def wait_for(self, path, count=1):
        """Waits until the processes have written `count` files that match `path`."""

        def there():
            found = list(pathlib.Path(self.folder).glob(path))
            if len(found) >= count:
                return found
            assert self.process.poll() is None, "the launcher ended: " + self.process.stderr.read()

        return watched.wait_until(there, f"{path} did not appear in {self.folder}")

    def pids(self):
        """Every process that inherited this job's environment, the launcher included."""
        return find_processes(f"FLT_TEST_MARK={self.mark}")

    def pid_of(self, role, rank):
        """The process with this role and rank, as soon as there is one."""
        return wait_for_process(
            f"FLT_TEST_MARK={self.mark}", f"FLT_ROLE={role}", f"FLT_RANK={rank}"
        )

    def kill_processes(self, *who):
        """Kills processes, each (role, rank), at once. They are gone afterwards."""
        pids = [self.pid_of(role, rank) for role, rank in who]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        watched.wait_until(lambda: not set(pids) & set(self.pids()), f"still there: {pids}")

    def assert_nothing_left(self, seconds=2.0):
        deadline = time.monotonic() + watched.room(seconds)
        while left := self.pids():
            assert time.monotonic() < deadline, f"still there: {left}"
            time.sleep(0.02)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
