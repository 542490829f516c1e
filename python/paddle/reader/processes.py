"""Forked processes that read ahead.

Each process runs one reader and writes its samples to a pipe:

    pipe    := message*
    message := length:u64 kind:u8 payload         little endian; `length` counts the payload
    kind    := 0: a pickled sample   1: the reader ended   2: a pickled (error or None, traceback)

A pipe that ends without kind 1 or 2 tells of a process that died. A process leaves by os._exit, so
that nothing of its parent is torn down twice; it ends when its pipe breaks, that is, when nobody
reads any more, and when its parent dies, with whatever it has started.
"""

import os
import pickle
import select
import signal
import struct
import sys
import threading
import time
import traceback

from .._forked import Group, fork
from .threads import Channel, read_all, values_of
import contextlib

_HEADER = struct.Struct("<QB")
_SAMPLE, _END, _ERROR = range(3)
_CHUNK = 1 << 20

# How long a process may take to leave once its pipe is broken, before it is killed.
_PATIENCE = 1.0


class RemoteTraceback(Exception):
    """Where an error was raised in another process; the cause of the error raised here."""

    def __str__(self):
        return f'\n"""\n{self.args[0]}"""'


# ---- in the forked process


def _write(fd, kind, payload=b""):
    view = memoryview(_HEADER.pack(len(payload), kind) + payload)
    while view:
        view = view[os.write(fd, view) :]


def _describe(error):
    """An error as bytes, also one that cannot be pickled, and its traceback as text."""
    where = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickle.loads(pickle.dumps(error))
        return pickle.dumps((error, where))
    except Exception:  # noqa: BLE001 - whatever a foreign class raises
        return pickle.dumps((None, where))


def _child(reader, fd, group, ahead):
    """Run a reader in this thread and write in another, so that work goes on while a pipe is full.

    Never returns.
    """
    messages = Channel(ahead)

    def write():
        try:
            for message in values_of(messages):
                _write(fd, *message)
        except OSError:  # nobody reads any more
            messages.cancel()

    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
        group.enter()
        writer = threading.Thread(target=write, daemon=True)
        writer.start()

        def push(sample):
            try:
                payload = pickle.dumps(sample, protocol=pickle.HIGHEST_PROTOCOL)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise TypeError(
                    "multiprocess_reader sends samples between processes, but one of them cannot "
                    f"be pickled: {error}"
                ) from error
            return messages.push((_SAMPLE, payload))

        def failed(error):
            messages.push((_ERROR, _describe(error)))

        read_all(reader, push, failed, lambda: messages.push((_END,)))
        messages.close()
        writer.join()
        status = 0
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status)


# ---- in the parent


class _Process:
    """A forked reader and what has arrived of its messages."""

    def __init__(self, reader, index, others, ahead, group):
        self.index = index
        self.done = False
        self._arrived = bytearray()
        self.fd, write_end = os.pipe()
        self.pid = fork(f"reader {index} of multiprocess_reader")
        if self.pid == 0:
            # The reading ends belong to the parent alone: when it goes, the pipes break.
            for fd in [self.fd, *[other.fd for other in others]]:
                os.close(fd)
            _child(reader, write_end, group, ahead)
        group.adopt(self.pid)
        os.close(write_end)

    def receive(self):
        """Read what there is; the samples in it. Raises what went wrong in the process."""
        chunk = os.read(self.fd, _CHUNK)
        if not chunk:
            self.done = True
            raise RuntimeError(self._epitaph())
        self._arrived += chunk
        samples, at = [], 0
        while len(self._arrived) - at >= _HEADER.size:
            length, kind = _HEADER.unpack_from(self._arrived, at)
            start, end = at + _HEADER.size, at + _HEADER.size + length
            if len(self._arrived) < end:
                break
            if kind == _SAMPLE:
                with memoryview(self._arrived)[start:end] as payload:
                    samples.append(pickle.loads(payload))
            elif kind == _END:
                self.done = True
            else:
                self.done = True
                samples.append(_Failure(*pickle.loads(bytes(self._arrived[start:end])), self))
            at = end
        del self._arrived[:at]
        return samples

    def _epitaph(self):
        _, status = os.waitpid(self.pid, 0)
        pid, self.pid = self.pid, 0
        code = os.waitstatus_to_exitcode(status)
        how = (
            f"was killed by {signal.Signals(-code).name}"
            if code < 0
            else f"exited with status {code}"
        )
        return (
            f"reader {self.index} of multiprocess_reader, process {pid}, {how} before its last "
            f"sample"
        )

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def ended(self):
        """Whether the process has left; it is then no zombie any more."""
        if self.pid:
            try:
                pid, _ = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else waited for it
                pid = self.pid
            if pid:
                self.pid = 0
        return self.pid == 0


class _Failure:
    """An error that arrived in place of a sample."""

    def __init__(self, error, where, process):
        self._error = error
        self._where = where
        self._index = process.index

    def throw(self):
        error = self._error
        if error is None:
            last = self._where.strip().splitlines()[-1]
            error = RuntimeError(f"reader {self._index} of multiprocess_reader failed: {last}")
        raise error from RemoteTraceback(self._where)


def _dismiss(processes):
    """Break the pipes, wait a moment, kill what is still there. Leaves no process and no zombie."""
    for process in processes:
        process.close()
    until = time.monotonic() + _PATIENCE
    while not all([process.ended() for process in processes]) and time.monotonic() < until:
        time.sleep(0.002)
    for process in processes:
        if not process.ended():
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)
            process.pid = 0


def samples_of_processes(readers, most):
    """Samples as they arrive. The processes together work about ``most`` samples ahead."""
    owner = os.getpid()
    ahead = max(1, most // len(readers))
    processes = []
    group = Group()
    try:
        for index, reader in enumerate(readers):
            processes.append(_Process(reader, index, processes, ahead, group))
        by_fd = {process.fd: process for process in processes}
        poll = select.poll()
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        while by_fd:
            for fd, _ in poll.poll():
                samples = by_fd[fd].receive()
                if by_fd[fd].done:
                    poll.unregister(fd)
                    del by_fd[fd]
                for sample in samples:
                    if isinstance(sample, _Failure):
                        sample.throw()
                    yield sample
    finally:
        if os.getpid() == owner:  # a fork of this process owns neither pipes nor processes
            _dismiss(processes)
            group.end()
