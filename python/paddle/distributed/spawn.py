"""Workers that are processes of a function: ``spawn(train, nprocs=4)``.

The processes are a collective job of their own, which the launcher starts and watches
(``flotilla spawn``): it hosts the job's store, so no worker must outlive the others, and ends all
when one fails, when this process asks for it, or when this process is gone.

    this process ──work: function, arguments──► worker 0 … n-1      files in memory: nothing is
                 ◄──its result: value or traceback──                left, whoever is killed
                 ◄──events: started, ended, done── the launcher
"""

import atexit
import json
import multiprocessing.connection
import multiprocessing.context
import multiprocessing.reduction
import multiprocessing.resource_tracker
import multiprocessing.spawn
import os
import pickle
import queue
import signal
import subprocess
import threading
import time
import warnings

from paddle.base.place import get_cuda_device_count

from .launch import _program

# What tells a process of a job that it is one, and is not said anew by the launcher.
_OF_ANOTHER_JOB = (
    "FLT_JOB_TOKEN FLT_MADE_TOKEN FLT_ONLY_FROM FLT_PS_DIR PADDLE_MASTER PADDLE_PSERVERS_IP_PORT_LIST "
    "PADDLE_PSERVER_IPS PADDLE_TRAINERS PADDLE_TRAINING_ROLE POD_IP TRAINING_ROLE"
).split()
_OPTIONS = ("start_method", "gpus", "xpus", "ips", "backend", "print_config")
_FORMER_OPTIONS = ("selected_devices", "started_port", "cluster_node_ips", "node_ip")
_ENTRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_spawned.py")
_GRACE = 2.0  # seconds between the request to end and the kill
_SAME_SIGNAL = 0.3  # seconds in which Ctrl-C reaches all processes of a terminal


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Call ``func(*args)`` in ``nprocs`` processes that are the workers of a job.

    ``func`` must be importable: defined at the top level of a module or script, whose own work
    stands under ``if __name__ == "__main__"``. Without ``nprocs`` there is a process for each of
    ``gpus``, or for each GPU, or for each core. With ``join`` it returns when all have ended well,
    and raises the first failure with its traceback; otherwise call ``join()`` of what it returns.
    Processes that are not waited for until this one ends are waited for then, or ended then where
    they are ``daemon`` ones. Whatever ``start_method`` is, each is a fresh interpreter.
    """
    devices = _read_options(options)
    count = nprocs
    if count == -1:
        count = len(devices) or get_cuda_device_count() or len(os.sched_getaffinity(0))
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"nprocs must be a number from 1 on, or -1, but is {nprocs!r}")
    if devices and len(devices) < count:
        raise ValueError(f"{count} processes need a GPU each, but gpus names {len(devices)}")
    context = MultiprocessContext(func, tuple(args), count, devices[:count], daemon)
    if join:
        try:
            context.join()
        except KeyboardInterrupt:
            context._interrupt()
            raise
    return context


def _read_options(options):
    """The devices that are named; refuse options that nobody knows."""
    for name in options:
        if name in _FORMER_OPTIONS:
            warnings.warn(f"{name} of paddle.distributed.spawn changes nothing", stacklevel=3)
        elif name not in _OPTIONS:
            raise ValueError(
                f"paddle.distributed.spawn has no option {name!r}; it has {', '.join(_OPTIONS)}"
            )
    method = options.get("start_method") or "spawn"
    if method not in ("spawn", "fork", "forkserver"):
        raise ValueError(f"start_method is spawn, fork or forkserver, but {method!r} was given")
    ips = options.get("ips") or "127.0.0.1"
    if "," in ips:
        raise ValueError(f"spawn starts processes of this host, but ips is {ips!r}; see fleetrun")
    devices = options.get("gpus") or options.get("xpus") or ""
    return [one.strip() for one in str(devices).split(",") if one.strip()]


class MultiprocessContext:
    """The processes of ``spawn``. ``return_queues[i].get()`` gives what process i returned."""

    def __init__(self, func, args, count, devices, daemon):
        self._owner = os.getpid()
        self._daemon = daemon
        self._failure = None  # why the job failed, in words
        self._done = False
        self._ending = False
        self._lock = threading.Lock()
        self._unread = b""  # of a line of the events
        self._files = [_MemoryFile(f"result of worker {rank}") for rank in range(count)]
        self.processes = [_Process(self, rank, daemon) for rank in range(count)]
        self.return_queues = [_ReturnQueue(self, rank) for rank in range(count)]
        with _Work(func, args) as work:
            self._launch(work, devices)
        atexit.register(self._at_exit)
        try:
            self._wait(until=lambda: self._done or None not in self.pids())
        except KeyboardInterrupt:
            self._interrupt()
            raise
        if None in self.pids():  # it was refused
            raise RuntimeError(self._failure)

    def _launch(self, work, devices):
        program = _program()
        self._events, events = os.pipe()
        os.set_blocking(self._events, False)
        descriptors = [events, *work.descriptors, *(file.fileno() for file in self._files)]
        command = [program, "spawn", f"--nproc_per_node={len(self._files)}"]
        command += [f"--events_fd={events}", f"--parent_pid={os.getpid()}"]
        command += [f"--gpus={','.join(devices)}"] if devices else []
        command += [os.fsdecode(multiprocessing.spawn.get_executable())]
        command += [*subprocess._args_from_interpreter_flags(), _ENTRY, str(work.tracker)]
        command += [str(work.file.fileno()), *(str(file.fileno()) for file in self._files)]
        env = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_JOB}
        try:
            self._launcher = subprocess.Popen(command, env=env, pass_fds=descriptors)
        except BaseException:
            os.close(self._events)
            raise
        finally:
            os.close(events)

    def pids(self):
        """The process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None):
        """Wait for the processes: True when all have ended well, False when the time is over.

        Raises the first failure, once the other processes have been ended.
        """
        in_time = self._wait(timeout)
        if in_time and self._failure:
            raise RuntimeError(self._failure)
        return in_time

    def _wait(self, timeout=None, until=None):
        """Take events until all is done, or what ``until`` says, and whether that was in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not (until() if until else self._done):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left < 0:
                return False
            self._take_events(left)
        return True

    def _take_events(self, timeout):
        """Read what the launcher tells, and wait for it where there is nothing."""
        if self._done or not multiprocessing.connection.wait([self._events], timeout):
            return
        with self._lock:
            try:
                read = b"" if self._done else os.read(self._events, 1 << 16)
            except BlockingIOError:  # another thread was faster
                return
            *lines, self._unread = (self._unread + read).split(b"\n")
            for line in lines:
                self._take(json.loads(line))
            if not read and not self._done:
                self._close()

    def _take(self, event):
        kind = event["event"]
        if kind == "refused":
            self._failure = f"paddle.distributed.spawn: {event['why']}"
        elif kind == "done":
            self._failure = self._explain(event["result"])
        elif kind == "ending":
            self._ending = True
        else:
            process = self.processes[event["process"]["rank"]]
            process.pid = event["process"]["pid"]
            if kind == "ended":
                end = event["process"]["end"]
                process._exitcode = end["exit_code"] if "exit_code" in end else -end["signal"]

    def _explain(self, result):
        """Why the job failed; None: it did not."""
        if result["exit_code"] == 0:
            return None
        if result["culprit"] is None:
            return f"paddle.distributed.spawn was interrupted (exit code {result['exit_code']})"
        rank = result["culprit"]["rank"]
        code = self.processes[rank]._exitcode
        if code < 0:
            how = f"was killed by signal {-code} ({signal.Signals(-code).name})"
        elif (said := self._result(rank)) and said[0] == "failed":
            how = "failed:\n\n" + said[1]
        else:
            how = f"ended with exit code {code}"
        return f"process {rank} of paddle.distributed.spawn {how}"

    def _result(self, rank):
        """What a process said when it ended: ("returned", value), ("failed", traceback) or None."""
        data = self._files[rank].read()
        return pickle.loads(data) if data else None

    def _close(self):
        self._done = True
        os.close(self._events)
        code = self._launcher.wait()
        if code != 0 and not self._failure:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self._failure = f"the launcher of paddle.distributed.spawn {how}"
        atexit.unregister(self._at_exit)

    def _interrupt(self):
        """Wait for an end that Ctrl-C has begun; begin it where the launcher did not hear of it."""
        self._wait(_SAME_SIGNAL, until=lambda: self._done or self._ending)
        if not self._ending:
            self._end()
        self._wait()

    def _end(self):
        """End all processes: a request, and after a while a kill."""
        if self._done:
            return
        self._launcher.terminate()
        if not self._wait(_GRACE):
            self._launcher.terminate()  # the second time kills
        self._wait()

    def _at_exit(self):
        if os.getpid() != self._owner:  # a fork: they are not its children
            return
        if self._daemon:
            self._end()
        self._wait()


class _Process:
    """A worker, as multiprocessing shows one."""

    def __init__(self, context, rank, daemon):
        self._context = context
        self._exitcode = None
        self.name = f"worker {rank}"
        self.daemon = daemon
        self.pid = None

    @property
    def exitcode(self):
        """None: it runs. Negative: the signal that killed it."""
        if self._exitcode is None:
            self._context._take_events(0)
        return self._exitcode

    def is_alive(self):
        return self.exitcode is None and not self._context._done

    def join(self, timeout=None):
        self._context._wait(timeout, until=lambda: not self.is_alive())

    def terminate(self):
        self._send(signal.SIGTERM)

    def kill(self):
        self._send(signal.SIGKILL)

    def _send(self, number):
        if self.is_alive():
            os.kill(self.pid, number)


class _ReturnQueue:
    """Holds what one process returned, once it has ended."""

    def __init__(self, context, rank):
        self._context = context
        self._rank = rank
        self._taken = False

    def empty(self):
        return self._taken or self._context.processes[self._rank].exitcode != 0

    def get(self, block=True, timeout=None):
        """What the process returned; raises the failure of the job where it returned nothing."""
        if not self._taken:
            self._context.processes[self._rank].join(timeout if block else 0)
        if self.empty():
            if self._context._done:
                self._context.join()
            raise queue.Empty
        self._taken = True
        return self._context._result(self._rank)[1]


class _MemoryFile:
    """A file without a name, which goes with the last process that has it open."""

    def __init__(self, name):
        self._file = os.fdopen(os.memfd_create(name), "rb+")

    def fileno(self):
        return self._file.fileno()

    def write(self, data):
        self._file.write(data)
        self._file.flush()

    def read(self):
        return os.pread(self.fileno(), os.fstat(self.fileno()).st_size, 0)

    def close(self):
        self._file.close()


class _Inherited:
    """A descriptor inside of what is pickled."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def detach(self):
        return self._descriptor


class _Work:
    """What fresh interpreters do, as multiprocessing pickles it for its own.

    While it pickles, this stands for the process that it pickles for: descriptors in queues and
    pipes keep their numbers, since the launcher hands them on.
    """

    DupFd = _Inherited

    def __init__(self, func, args):
        self.file = _MemoryFile("work")
        self.tracker = multiprocessing.resource_tracker.getfd()
        self.descriptors = [self.file.fileno(), self.tracker]
        multiprocessing.context.set_spawning_popen(self)
        try:
            prepared = multiprocessing.spawn.get_preparation_data("worker")
            for part in (prepared, (func, args)):
                multiprocessing.reduction.dump(part, self.file)
        finally:
            multiprocessing.context.set_spawning_popen(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def duplicate_for_child(self, descriptor):
        self.descriptors.append(descriptor)
        return descriptor
