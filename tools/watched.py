"""Runs a command, or waits in a test, for as long as something gets on.

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


def processes():
    """Of every process its parent, its session, and the seconds that it has had of processors, with
    those it has waited for."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        ticks = sum(int(field) for field in fields[11:15])
        seconds = ticks / os.sysconf("SC_CLK_TCK")
        found[int(stat.parent.name)] = int(fields[1]), int(fields[3]), seconds
    return found


def processor_seconds(session):
    """What all processes of a session have had of processors."""
    return sum(seconds for _, of, seconds in processes().values() if of == session)


def seconds_below(pid):
    """What all that come from a process have had of processors, without itself."""
    found = processes()
    below = {pid}
    while more := {one for one, (parent, *_) in found.items() if parent in below} - below:
        below |= more
    return sum(found[one][2] for one in below if one != pid and one in found)


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


def room(seconds):
    """For what must not take longer on an idle machine: as much longer as there are more that want a
    processor than there are processors."""
    load, _, _, running = pathlib.Path("/proc/loadavg").read_text().split()[:4]
    wanted = max(float(load), int(running.partition("/")[0]))
    return seconds * max(1, wanted / len(os.sched_getaffinity(0)))


class Patience:
    """For a wait in a test: as long as what this process has started gets on, or what came of that.
    `seconds` without work and output are too many, or as much work on every core without output.
    Those that look again and again in vain, and say so, have room for three times as much. With
    `own`, work of this process counts, but for that of the thread that asks."""

    def __init__(self, seconds=60, own=False):
        cores = len(os.sched_getaffinity(0))
        self.limits = Limits(seconds, seconds * cores)
        self.seconds, self.own = seconds, own
        self.next = 0  # when to look again
        self.last = None  # seconds of work at the last look
        self.worked = 0  # since the first; those who end take theirs along

    def over(self, printed=0):
        """Why it is waited no longer, or nothing. `printed`: bytes."""
        now = time.monotonic()
        if now < self.next:
            return ""
        self.next = now + LOOK
        seconds = seconds_below(os.getpid())
        if self.own:
            seconds += time.process_time() - time.thread_time()
        self.worked += max(0, seconds - (seconds if self.last is None else self.last))
        self.last = seconds
        self.limits.most = round(room(3 * self.seconds))
        return self.limits.stuck(now, printed, self.worked)


def wait_until(condition, what, seconds=60):
    """Waits for what `condition` returns once it is true; `what` did not come otherwise."""
    patience = Patience(seconds)
    while not (found := condition()):
        why = patience.over()
        assert not why, f"{what}: {why}"
        time.sleep(0.01)
    return found


def communicate(process, seconds=60):
    """As communicate() of a process, which is killed where it does not get on."""
    patience = Patience(seconds)
    while True:
        try:
            return process.communicate(timeout=LOOK)
        except subprocess.TimeoutExpired as waiting:
            said = [part for part in (waiting.output, waiting.stderr) if part]
            if why := patience.over(sum(map(len, said))):
                process.kill()
                raise AssertionError(f"{process.args}: {why}; it printed {said}") from None


def wait(process, seconds=60):
    """As wait() of a process."""
    wait_until(lambda: process.poll() is not None, f"{process.args} does not end", seconds)
    return process.returncode


def run(command, text=True, input=None, seconds=60, **settings):
    """As subprocess.run(), with what it prints."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    # Not through a pipe: communicate() forgets the rest where it is called again.
    with tempfile.TemporaryFile() as given:
        if input is not None:
            given.write(input.encode() if text else input)
            given.seek(0)
            settings["stdin"] = given
        process = subprocess.Popen(command, text=text, **settings)
    with process:
        try:
            output = communicate(process, seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, *output)
