"""Streams and events: all runs of a process are in one queue, and a run with fetches is done when
it returns."""

import contextlib
import time

import _flotilla as core


class Event:
    """A moment, for those who measure how long something takes."""

    def __init__(self, device=None, enable_timing=False, blocking=False, interprocess=False):
        self.device, self._recorded = device, None

    def record(self, stream=None):
        """The moment is now."""
        self._recorded = time.perf_counter()

    def query(self):
        """Whether everything before it is done: always."""
        return True

    def synchronize(self):
        """Nothing to wait for."""

    def elapsed_time(self, end_event):
        """The milliseconds from this moment to another one."""
        if self._recorded is None or end_event._recorded is None:
            raise RuntimeError(
                "both events must have been recorded, but one was not; call record()"
            )
        return (end_event._recorded - self._recorded) * 1000


class Stream:
    """A queue of work, of which there is none: each run works through all of its own."""

    def __init__(self, device=None, priority=2, stream_base=None):
        self.device, self.priority, self.stream_base = device, priority, stream_base

    def query(self):
        """Whether everything in it is done: always."""
        return True

    def synchronize(self):
        """Nothing to wait for."""

    def wait_event(self, event):
        """Nothing to wait for."""

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def record_event(self, event=None):
        """The moment, in ``event`` or in a new one."""
        event = event or Event()
        event.record(self)
        return event


_current = [Stream()]


def current_stream(device=None):
    """The stream that set_stream chose, or the one that is always there."""
    return _current[0]


def set_stream(stream):
    """Choose the current stream; returns the one before."""
    before, _current[0] = _current[0], stream
    return before


@contextlib.contextmanager
def stream_guard(stream=None):
    """A ``with`` block with another current stream."""
    before = set_stream(stream or _current[0])
    try:
        yield
    finally:
        set_stream(before)


def synchronize(device=None):
    """Return when all that runs without fetches have left on a GPU is done."""
    for number in range(core.gpu_count()):
        core.gpu(number).wait()
