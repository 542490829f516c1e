"""Threads that read ahead.

    samples_of_thread     reader --> channel --> consumer
    samples_of_mappers    reader --> channel --> mappers --> channel --> consumer
    samples_in_order      reader --> channel --> mappers    (each sample's slot is filled by the
                                 \\-> slots, in order ------> consumer     mapper that took it)

All are generators. When one ends, by its last sample, an error, close() or being forgotten, it
cancels its channels, which wakes the threads, and joins them.
"""

import collections
import sys
import threading
import time

# How long a forgotten reader waits for a thread that is inside the user's code. The threads are
# daemons: one that takes longer ends by itself after that, and never keeps the process.
_PATIENCE = 1.0


class Ended(Exception):
    """The channel ended and all its values were read."""


class Channel:
    """A queue of bounded length. After close, fail or cancel no call blocks."""

    def __init__(self, capacity):
        self._capacity = max(1, capacity)
        self._values = collections.deque()
        self._ended = False
        self._error = None
        # Reentrant: the garbage collector may run in here and close the reader of this channel.
        lock = threading.RLock()
        self._not_full = threading.Condition(lock)
        self._not_empty = threading.Condition(lock)

    def push(self, value):
        """Wait while the channel is full. False: it has ended, and the value was not taken."""
        with self._not_full:
            while not self._ended and len(self._values) >= self._capacity:
                self._not_full.wait()
            if self._ended:
                return False
            self._values.append(value)
            self._not_empty.notify()
            return True

    def pop(self):
        """Wait while the channel is empty. At its end, raise what fail() was given, or Ended."""
        with self._not_empty:
            while not self._ended and not self._values:
                self._not_empty.wait()
            if self._values:
                value = self._values.popleft()
                self._not_full.notify()
                return value
            if self._error is not None:
                raise self._error
            raise Ended

    def close(self):
        """No more values."""
        self._end()

    def fail(self, error):
        """No more values, and this is why; without an error the same as close()."""
        self._end(error)

    def cancel(self):
        """Nobody reads any more."""
        self._end(drop=True)

    def _end(self, error=None, drop=False):
        with self._not_full:
            if not self._ended:
                self._error = error
            self._ended = True
            if drop:
                self._values.clear()
                self._error = None
            self._not_full.notify_all()
            self._not_empty.notify_all()


class Slot:
    """A place for one result, in the order of samples."""

    def __init__(self):
        self._done = threading.Event()
        self._value = None
        self._error = None

    def fill(self, value):
        self._value = value
        self._done.set()

    def fail(self, error):
        self._error = error
        self._done.set()

    def get(self):
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value


class Crew:
    """Threads that are woken and joined at the end."""

    def __init__(self, *channels):
        self._channels = channels
        self._threads = []

    def start(self, run, *arguments):
        thread = threading.Thread(target=run, args=arguments, name="paddle.reader", daemon=True)
        self._threads.append(thread)
        thread.start()

    def dismiss(self):
        for channel in self._channels:
            channel.cancel()
        if sys is None or sys.is_finalizing():
            return  # the interpreter ends, and its daemons have stopped already
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            # The garbage collector may close a forgotten reader in any thread, also in its own.
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))


def values_of(channel):
    """What a channel holds, up to its end."""
    while True:
        try:
            value = channel.pop()
        except Ended:
            return
        yield value
        del value  # a sample in memory for each reader would otherwise live one turn longer


def read_all(reader, push, failed, done):
    """Push each sample until push() says no; close the reader in this same thread."""
    try:
        samples = iter(reader())
        try:
            for sample in samples:
                if not push(sample):
                    break
        finally:
            close = getattr(samples, "close", None)
            if close is not None:
                close()
        done()
    except BaseException as error:  # noqa: BLE001 - raised again where samples are read
        failed(error)


def samples_of_thread(reader, size):
    channel = Channel(size)
    crew = Crew(channel)
    try:
        crew.start(read_all, reader, channel.push, channel.fail, channel.close)
        yield from values_of(channel)
    finally:
        crew.dismiss()


def samples_of_mappers(mapper, reader, threads, size):
    taken, results = Channel(size), Channel(size)
    left = threads
    reason = None
    lock = threading.Lock()

    def failed(error):
        nonlocal reason
        reason = error  # raised behind the samples that were read before
        taken.close()

    def work():
        nonlocal left
        try:
            for sample in values_of(taken):
                if not results.push(mapper(sample)):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again where samples are read
            results.fail(error)
        with lock:
            left -= 1
            if left == 0:
                results.fail(reason)

    crew = Crew(taken, results)
    try:
        crew.start(read_all, reader, taken.push, failed, taken.close)
        for _ in range(threads):
            crew.start(work)
        yield from values_of(results)
    finally:
        crew.dismiss()


def samples_in_order(mapper, reader, threads, size):
    taken, slots = Channel(size), Channel(size)

    def push(sample):
        slot = Slot()
        return taken.push((slot, sample)) and slots.push(slot)

    def work():
        for slot, sample in values_of(taken):
            try:
                slot.fill(mapper(sample))
            except BaseException as error:  # noqa: BLE001 - raised again where samples are read
                slot.fail(error)

    def failed(error):
        taken.close()
        slots.fail(error)

    def done():
        taken.close()
        slots.close()

    crew = Crew(taken, slots)
    try:
        crew.start(read_all, reader, push, failed, done)
        for _ in range(threads):
            crew.start(work)
        for slot in values_of(slots):
            yield slot.get()
    finally:
        crew.dismiss()
