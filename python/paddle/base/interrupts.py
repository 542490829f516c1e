"""How a program ends that Ctrl-C interrupts: it shows where the user's code was, nothing of ours."""

import os
import signal
import sys
import threading
import time
import types

import _flotilla as core

_package = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


_interrupted = False


def patience(seconds):
    """How long threads of the user's code are waited for: not once Ctrl-C has ended the program."""
    return 0.1 if _interrupted else seconds


def _without_our_frames(trace):
    """The same traceback up to the last frame that is not in this package."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while frames and frames[-1].tb_frame.f_code.co_filename.startswith(_package):
        frames.pop()
    kept = None
    for frame in reversed(frames):
        kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _launcher_tells():
    """Whether the launcher has interrupted the job, and says so itself. Its word and its signal
    come at the same time, in either order."""
    if "FLT_STORE" not in os.environ:
        return False
    deadline = time.monotonic() + 0.5
    while not (told := core.fleet.interrupted()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return told


def _hook(kind, error, trace, otherwise=sys.excepthook):
    global _interrupted
    if issubclass(kind, KeyboardInterrupt):
        _interrupted = True
        # Once more ends the process at once; an interpreter that is ending cannot tell of it.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        if _launcher_tells():
            return
        trace = _without_our_frames(trace)
        error = error.with_traceback(trace)
    otherwise(kind, error, trace)


sys.excepthook = _hook
