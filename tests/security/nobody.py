"""Another user of this machine: a Python program that runs as nobody."""

import os
import shutil
import subprocess
import textwrap

import pytest

NOBODY = "65534"

# The sockets of the kernel's list whose names begin like this, without the zero byte in front.
NAMES = """
import os, socket, sys, time

def names(prefix):
    with open("/proc/net/unix") as table:
        words = [line.split()[-1] for line in table]
    return sorted({word[1:] for word in words if word.startswith("@" + prefix)})
"""


class Nobody:
    """Runs a program in an empty environment; it is over at the end of the `with`."""

    def __init__(self, program, *arguments):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            pytest.skip("acting as another user needs root and the program setpriv")
        # The interpreter of the system: another user may not be able to read ours.
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        command += ["/usr/bin/python3", "-c", NAMES + textwrap.dedent(program)]
        command += map(str, arguments)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"}
        )

    def line(self):
        """The next line that it prints; "" at its end."""
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
