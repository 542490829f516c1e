"""Runs a command for as long as it gets on.

On a busy machine a sound test takes many times as long as on an idle one, so the limits are not of
time but of progress: a line printed, or else the processor's time that the command and all that it
started have had meanwhile. One that neither prints nor computes waits for what does not come; one
that computes without end prints nothing more.
"""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

IDLE = 300  # seconds without a line and without work
WORK = 900  # seconds of work without a line
MOST = 2 * 3600  # seconds in all
LOOK = 2  # seconds from one look to the next


def processor_seconds(session):
    """What all processes of a session have had of processors, with those they have waited for."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


class Limits:
    """Whether a command gets on, by what is seen of it from time to time."""

    def __init__(self, idle=IDLE, work=WORK, most=MOST):
        self.idle, self.work, self.most = idle, work, most
        self.began = self.moved = None  # moments
        self.printed = self.worked = 0  # at the last line: bytes and seconds
        self.seen = 0  # seconds of work at the last look that found some

    def stuck(self, now, printed, worked):
        """Why it is ended, or nothing."""
        if self.began is None:
            self.began = self.moved = now
        if printed > self.printed:
            self.printed, self.worked, self.moved = printed, worked, now
        # The clock of the kernel is coarse, and a process that waits may turn over now and then.
        if worked > self.seen + 0.05 * LOOK:
            self.seen, self.moved = worked, now
        if now - self.moved > self.idle:
            return f"it has neither printed nor computed for {self.idle} s"
        if worked - self.worked > self.work:
            return f"it has computed for {self.work} s without printing anything"
        if now - self.began > self.most:
            return f"it runs for {self.most} s"
        return ""


def run_watched(command, cwd, limits=None, look=LOOK):
    """Runs `command` in a session of its own, which ends with it. Returns it with its output, which
    says at its end if it was stuck."""
    limits = limits or Limits()
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        stuck = ""
        try:
            while not stuck:
                try:
                    process.wait(look)
                    break
                except subprocess.TimeoutExpired:
                    size = os.fstat(output.fileno()).st_size
                    stuck = limits.stuck(time.monotonic(), size, processor_seconds(process.pid))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    if stuck:
        text += f"\nended by tools/watched.py: {stuck}\n"
    return subprocess.CompletedProcess(words, process.returncode, text)
