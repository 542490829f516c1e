"""The worker processes of a DataLoader, as the training process sees them."""

import atexit
import itertools
import os
import pickle
import selectors
import signal
import socket
import sys
import time
import weakref

import numpy as np

import _flotilla as core

from .._forked import Group, fork
from . import _worker
from ._ahead import Ahead
from .dataset import IterableDataset
from .sampler import batches_of
import contextlib

# Seconds that a worker has to leave by itself before it is ended.
_PATIENCE = 1.0
# The ends of all sockets that belong to this process: a worker must not hold on to any of them.
_sockets = set()
_live = weakref.WeakSet()


class WorkerTraceback(Exception):
    """Where in a worker process an exception was raised; the cause of the one that is raised."""

    def __str__(self):
        return f"\n{self.args[0]}"


class _Process:
    """One worker."""

    def __init__(self, loader, number, seed, group):
        self.number = number
        self.socket, theirs = socket.socketpair()
        self.crash_log = os.memfd_create("paddle.io crash", os.MFD_CLOEXEC)
        self.pid = fork(f"worker {number} of a DataLoader")
        if self.pid == 0:
            for descriptor in [*_sockets, self.socket.fileno()]:
                os.close(descriptor)
            _worker.run(loader, number, loader.num_workers, seed, theirs, group, self.crash_log)
        group.adopt(self.pid)
        self.pidfd = os.pidfd_open(self.pid)
        theirs.close()
        _sockets.add(self.socket.fileno())
        self.blocks = core.SharedBlocks()
        self.status = None

    def send(self, message):
        """False: the worker is gone."""
        try:
            _worker.send(self.socket, message)
            return True
        except OSError:
            return False

    def wait(self, seconds):
        """Whether it has ended within so many seconds."""
        if self.status is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self.pidfd, selectors.EVENT_READ)
                if not selector.select(max(0.0, seconds)):
                    return False
            try:
                self.status = os.waitpid(self.pid, 0)[1]
            except ChildProcessError:  # somebody else has waited for it
                self.status = 0
        return True

    def leave(self):
        """Closes its socket, at which it leaves."""
        if self.socket.fileno() >= 0:
            _sockets.discard(self.socket.fileno())
            self.socket.close()

    def end(self, deadline):
        """Makes sure that it has ended."""
        for kill in (None, signal.SIGTERM, signal.SIGKILL):
            if kill is not None:
                signal.pidfd_send_signal(self.pidfd, kill)
            if self.wait(deadline - time.monotonic() if kill is None else _PATIENCE):
                break
        os.close(self.pidfd)
        os.close(self.crash_log)

    def how_it_ended(self):
        """A sentence, and what a crash has left behind."""
        self.wait(_PATIENCE)
        if self.status is None:
            how = "closed its socket"
        elif os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            name = signal.Signals(number).name
            how = f"was killed by signal {number} ({name})"
            if number == signal.SIGKILL:
                how += ", perhaps because memory ran out"
        else:
            how = f"exited with status {os.WEXITSTATUS(self.status)}"
        text = os.pread(self.crash_log, 1 << 20, 0).decode(errors="replace")
        return f"worker {self.number} of a DataLoader (pid {self.pid}) {how}", text


class Pool:
    """Workers, and the batches that they make, in the order in which they were asked for."""

    def __init__(self, loader):
        self._group = Group()
        self._process = os.getpid()
        self._loader = loader
        self._tasks_given = 0
        seed = int(np.random.randint(low=0, high=sys.maxsize))
        self.workers = []
        self._selector = selectors.DefaultSelector()
        self._bell = os.pipe()  # read end, write end: who waits for workers hears it
        os.set_blocking(self._bell[0], False)
        self._selector.register(self._bell[0], selectors.EVENT_READ, None)
        _live.add(self)
        try:
            for number in range(loader.num_workers):
                worker = _Process(loader, number, seed, self._group)
                self.workers.append(worker)
                self._selector.register(worker.socket, selectors.EVENT_READ, worker)
                self._selector.register(worker.pidfd, selectors.EVENT_READ, worker)
        except BaseException:
            self.close()
            raise

    def batches(self):
        """One pass. What an earlier one has left under way is dropped."""
        loader = self._loader
        self._silence()
        self._asked, self._answers = {}, {}  # by the number of the task
        self._turns = itertools.cycle(self.workers)
        self._more = set(self.workers)
        iterable = isinstance(loader.dataset, IterableDataset)
        if iterable:
            for worker in self.workers:
                worker.send(("pass",))
        tasks = itertools.repeat(None) if iterable else self._indices()
        for _ in range(loader.prefetch_factor * len(self.workers)):
            self._ask(tasks)
        while self._asked:
            task = min(self._asked)
            answer = self._wait(task)
            worker = self._asked.pop(task)
            if answer is _END:
                self._more.discard(worker)
            self._ask(tasks)
            if answer is not _END:
                yield answer
                answer = None

    def _indices(self):
        if self._loader.batch_sampler is None:
            yield from range(len(self._loader.dataset))
            return
        for batch in batches_of(self._loader.batch_sampler):
            yield batch.tolist() if hasattr(batch, "tolist") else list(batch)

    def _ask(self, tasks):
        """Gives the next task to a worker: they take turns, save those that have no more."""
        if not self._more:
            return
        for indices in itertools.islice(tasks, 1):
            worker = next(one for one in self._turns if one in self._more)
            self._asked[self._tasks_given] = worker
            worker.send((self._tasks_given, indices, worker.blocks.returned()))
            self._tasks_given += 1

    def _wait(self, task):
        limit = self._loader.timeout or None
        deadline = None if limit is None else time.monotonic() + limit
        while task not in self._answers:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            with core.InputWait():
                events = self._selector.select(left)
            if not events and left is not None:
                worker = self._asked[task]
                raise RuntimeError(
                    f"worker {worker.number} of a DataLoader (pid {worker.pid}) did not produce "
                    f"its batch within the timeout of {limit} seconds"
                )
            ready = {key.fileobj for key, _ in events}
            if self._bell[0] in ready:
                raise _Interrupted
            for worker in {key.data for key, _ in events}:
                self._receive(worker, worker.socket in ready)
        answer = self._answers.pop(task)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _receive(self, worker, readable):
        """Takes one message; a worker that has ended and left none is an error."""
        received = None
        if readable:
            with contextlib.suppress(OSError):
                received = _worker.receive(worker.socket)
        elif self._selector_sees(worker.socket):
            return  # its last words come first
        if received is None:
            how, text = worker.how_it_ended()
            raise RuntimeError(how + (f":\n{text}" if text else ""))
        (task, kind, *rest), descriptors = received
        if kind == "batch":
            value = self._batch(worker, descriptors, *rest)
        else:
            value = _END if kind == "end" else self._error(worker, *rest)
        if task in self._asked:  # and not of a pass that was left
            self._answers[task] = value

    def _selector_sees(self, fileobj):
        return any(key.fileobj is fileobj for key, _ in self._selector.select(0))

    def _batch(self, worker, descriptors, block, size, arrays, value):
        for descriptor in descriptors:
            worker.blocks.map(block, descriptor, size)
            os.close(descriptor)
        return _fill(value, worker.blocks.take(block, arrays))

    def _error(self, worker, pickled, text):
        where = f"worker {worker.number} of a DataLoader (pid {worker.pid})"
        error = None if pickled is None else pickle.loads(pickled)
        if error is None or isinstance(error, (SystemExit, KeyboardInterrupt)):
            last = text.strip().splitlines()[-1]
            error = RuntimeError(f"{where} raised {last}")
        error.__cause__ = WorkerTraceback(f"in {where}:\n{text}")
        return error

    def interrupt(self):
        """Ends the pass that another thread goes through."""
        os.write(self._bell[1], b"!")

    def _silence(self):
        with contextlib.suppress(BlockingIOError):
            os.read(self._bell[0], 1 << 12)

    def close(self):
        """Ends the workers; no process is left."""
        if self._process != os.getpid():
            return  # a child that was forked has no such workers
        workers, self.workers = self.workers, []
        for worker in workers:
            self._selector.unregister(worker.socket)
            self._selector.unregister(worker.pidfd)
            worker.leave()
        self._selector.close()
        for end in self._bell:
            os.close(end)
        # A worker in the middle of a sample does not see that its socket is closed.
        deadline = time.monotonic() + _PATIENCE / 10
        for worker in workers:
            worker.end(deadline)
        self._group.end()  # and with it what the workers have started

    def __del__(self):
        if getattr(self, "workers", None):
            self.close()


class _Interrupted(Exception):
    """The pass is not wanted any more."""


_END = object()


def _fill(value, tensors):
    """The value with its arrays in place of the stand-ins."""
    if isinstance(value, _worker.Array):
        return tensors[value.index]
    if isinstance(value, dict):
        return {key: _fill(one, tensors) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_fill(one, tensors) for one in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_fill(one, tensors) for one in value)
    return value


class worker_batches:  # noqa: N801 - used like a function
    """The batches of one pass of a loader with workers."""

    def __init__(self, loader):
        self._loader = loader
        self._pool = loader._pool if loader._pool is not None else Pool(loader)
        loader._pool = self._pool if loader.persistent_workers else None
        self._ahead = loader.use_buffer_reader
        self._batches = Ahead(self._pool.batches, 2) if self._ahead else self._pool.batches()
        self._open = True
        _live.add(self)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return next(self._batches)
        except StopIteration:
            self.close()
            raise
        except BaseException:
            self._loader._pool = None  # what is left of it is of no use
            self.close()
            raise

    def close(self):
        """Ends the pass, and the workers where they do not wait for another."""
        if not self._open or self._pool._process != os.getpid():
            return
        self._open = False
        if self._ahead:
            self._pool.interrupt()
        self._batches.close()
        if self._loader._pool is not self._pool:
            self._pool.close()

    def __del__(self):
        if hasattr(self, "_batches"):
            self.close()


@atexit.register
def _close_all():
    for one in sorted(_live, key=lambda one: isinstance(one, Pool)):
        if not isinstance(one, Pool) or one.workers:
            one.close()  # passes before their workers
