"""Reading ahead: a thread that runs an iterator while the training thread computes."""

import atexit
import os
import threading
import weakref

import _flotilla as core
from paddle.base.interrupts import patience

# How long leaving a loop waits for the user's code to come back; the thread ends when it does.
_PATIENCE = 5.0
_live = weakref.WeakSet()


class Ahead:
    """The items of ``make()``, an iterator, up to ``capacity`` of them ahead.

    ``make`` is called in the thread. What it or the iterator raises is raised here, with its
    traceback, after the items that came before. ``close``, or dropping the object, ends the thread.
    """

    def __init__(self, make, capacity):
        self._channel = core.Handoff(capacity)
        self._process = os.getpid()
        self._thread = threading.Thread(
            target=_run, args=(self._channel, make), name="paddle.io reader", daemon=True
        )
        self._thread.start()
        _live.add(self)

    def __iter__(self):
        return self

    def __next__(self):
        return self._channel.pop()

    def close(self):
        """Ends the thread; items that were not taken are dropped."""
        if self._process != os.getpid():
            return  # a child that was forked has no such thread
        self._channel.cancel()
        if self._thread is not threading.current_thread():
            self._thread.join(patience(_PATIENCE))

    def __del__(self):
        if hasattr(self, "_thread"):
            self.close()


def _run(channel, make):
    try:
        items = iter(make())
        wanted = True
        for item in items:
            wanted = channel.push(item)
            item = None  # who takes it may be the last to hold it
            if not wanted:
                break
        if not wanted and hasattr(items, "close"):
            items.close()
        channel.close()
    except BaseException as error:  # noqa: B036 - told to the training thread
        channel.fail(error)


@atexit.register
def _close_all():
    for one in list(_live):
        one.close()
