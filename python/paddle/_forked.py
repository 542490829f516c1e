"""Forked processes that end with this one, and whatever they start."""

import contextlib
import os
import signal
import sys
import warnings
import weakref

import _flotilla as core

_groups = weakref.WeakSet()


def fork(name):
    """What os.fork gives; the process, ``name`` of it, is new, or a sentence says why not."""
    for stream in (sys.stdout, sys.stderr):  # or the child would print what waits there again
        if stream is not None:
            stream.flush()
    try:
        with warnings.catch_warnings():  # of other threads: the child needs none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            return os.fork()
    except OSError as error:
        raise RuntimeError(
            f"cannot start {name}: {error.strerror}. {core.thread_limits()}"
        ) from None


class Group:
    """A process group whose members end when the process that made it does, however it ends."""

    def __init__(self):
        self._group = core.ProcessGroup()
        _groups.add(self)

    def enter(self):
        """What a forked child does first."""
        number, (name, value) = self._group.id, self._group.mark.split("=", 1)
        for group in list(_groups):
            group.end()  # here: lets go of what is its parent's
        # Where there is no such file the members are ended by their group and its mark alone.
        with contextlib.suppress(OSError), open(self._group.entrance, "w") as entrance:
            entrance.write("0")
        os.setpgid(0, number)
        os.environ[name] = value
        # A group in the background of a terminal is stopped where it reads from it.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives

    def adopt(self, pid):
        """What its parent does, so that the child is a member from then on."""
        with contextlib.suppress(OSError):  # it was faster, or is gone
            os.setpgid(pid, self._group.id)

    def end(self):
        """Ends the members. In a forked child: lets go of the group."""
        self._group.end()
