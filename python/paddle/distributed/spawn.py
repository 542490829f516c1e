"""Workers that are processes of a function: ``spawn(train, nprocs=4)``.

The processes are a collective job of their own. Each finds rank, size and endpoints in its
environment, as under ``fleetrun``; worker 0 hosts the store. The first failure ends the others and
is raised where ``spawn`` was called.
"""

import multiprocessing
import multiprocessing.connection
import os
import queue
import secrets
import signal
import socket
import threading
import time
import traceback
import warnings

# What a job that this process belongs to would tell its processes.
_OF_ANOTHER_JOB = (
    "FLT_STORE FLT_ROLE FLT_RANK FLT_ATTEMPT FLT_LISTEN_FD PADDLE_MASTER PADDLE_PSERVERS_IP_PORT_LIST"
).split()
_OPTIONS = ("start_method", "gpus", "xpus", "ips", "backend", "print_config")
_FORMER_OPTIONS = ("selected_devices", "started_port", "cluster_node_ips", "node_ip")
_GRACE = 1.5  # seconds between the request to end and the kill
_SAME_MOMENT = 0.1  # seconds in which several failures may have one cause


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Call ``func(*args)`` in ``nprocs`` processes that are the workers of a job.

    ``func`` must be importable: defined at the top level of a module or script, whose own work
    stands under ``if __name__ == "__main__"``. Without ``nprocs`` there is a process for each of
    ``gpus``, or for each core. With ``join`` it returns when all have ended well, and raises the
    first failure with its traceback; otherwise call ``join()`` of what it returns.
    """
    devices = _read_options(options)
    count = len(devices) or len(os.sched_getaffinity(0)) if nprocs == -1 else nprocs
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"nprocs must be a number from 1 on, or -1, but is {nprocs!r}")
    if devices and len(devices) < count:
        raise ValueError(f"{count} processes need a GPU each, but gpus names {len(devices)}")
    context = MultiprocessContext(
        multiprocessing.get_context(options.get("start_method") or "spawn"), count
    )
    context._start(func, tuple(args), daemon, devices)
    if join:
        while not context.join():
            pass
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
    ips = options.get("ips") or "127.0.0.1"
    if "," in ips:
        raise ValueError(f"spawn starts processes of this host, but ips is {ips!r}; see fleetrun")
    devices = options.get("gpus") or options.get("xpus") or ""
    return [one.strip() for one in str(devices).split(",") if one.strip()]


class MultiprocessContext:
    """The processes of ``spawn``. ``return_queues[i].get()`` gives what process i returned."""

    def __init__(self, method, count):
        self._method = method
        self._ports = [_reserve_port() for _ in range(count)]
        self._pipes = {}  # reading ends, to ranks
        self._failures = {}  # by rank: when, and the traceback
        self.return_queues = [queue.SimpleQueue() for _ in range(count)]
        self.processes = []
        self.sentinels = {}  # of those that run, to ranks

    def _start(self, func, args, daemon, devices):
        token = secrets.token_hex(16)
        endpoints = [f"127.0.0.1:{port.getsockname()[1]}" for port in self._ports]
        try:
            for rank in range(len(endpoints)):
                reading, writing = self._method.Pipe(duplex=False)
                process = self._method.Process(
                    target=_run, args=(func, args, writing), daemon=daemon, name=f"worker {rank}"
                )
                with _Environment(_variables(rank, endpoints, devices, token)):
                    process.start()
                writing.close()
                self.processes.append(process)
                self.sentinels[process.sentinel] = rank
                self._pipes[reading] = rank
        except BaseException:
            self._end()
            raise

    def pids(self):
        """The process ids."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None):
        """Wait for the processes: True when all have ended well, False when the time is over.

        Raises the first failure, once the other processes have been ended.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.sentinels:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = multiprocessing.connection.wait([*self.sentinels, *self._pipes], left)
            if not ready:
                return False
            failed = self._take(ready)
            if failed:
                self._raise(failed)
        self._take(list(self._pipes))
        self._close()
        return True

    def _take(self, ready):
        """Read what processes sent; the ranks among those that ended badly."""
        for pipe in [one for one in ready if one in self._pipes]:
            rank = self._pipes[pipe]
            try:
                kind, value = pipe.recv()
            except EOFError:
                del self._pipes[pipe]
                pipe.close()
                continue
            if kind == "failed":
                self._failures[rank] = value
            else:
                self.return_queues[rank].put(value)
        ended = [self.sentinels.pop(one) for one in ready if one in self.sentinels]
        for rank in ended:
            self.processes[rank].join()
        return [rank for rank in ended if self.processes[rank].exitcode != 0]

    def _raise(self, failed):
        """Name the first of those that failed, after the others have been ended."""
        until = time.monotonic() + _SAME_MOMENT
        while self.sentinels and time.monotonic() < until:
            ready = multiprocessing.connection.wait([*self.sentinels, *self._pipes], _SAME_MOMENT)
            failed += self._take(ready)
        self._take([pipe for pipe in list(self._pipes) if pipe.poll()])

        # One that was killed failed for no other's sake; then whoever was first.
        def blame(rank):
            when = self._failures.get(rank, (0.0, ""))[0]
            return (self.processes[rank].exitcode > 0, when)

        culprit = min(failed, key=blame)
        self._end()
        exit_code = self.processes[culprit].exitcode
        if culprit in self._failures:
            how = "failed:\n\n" + self._failures[culprit][1]
        elif exit_code < 0:
            how = f"was killed by signal {-exit_code} ({signal.Signals(-exit_code).name})"
        else:
            how = f"ended with exit code {exit_code}"
        raise RuntimeError(f"process {culprit} of paddle.distributed.spawn {how}")

    def _end(self):
        """End what still runs: a request, and after a while a kill."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + _GRACE
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        self.sentinels.clear()
        self._close()

    def _close(self):
        for one in (*self._pipes, *self._ports):
            one.close()
        self._pipes, self._ports = {}, []


def _reserve_port():
    """A socket whose port the kernel gives to nobody else; who asks for it by number gets it."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def _variables(rank, endpoints, devices, token):
    """What ``fleetrun`` would put into the environment of this worker."""
    count = len(endpoints)
    variables = {
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
        "PADDLE_TRAINERS_NUM": str(count),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_RANK_IN_NODE": str(rank),
        "PADDLE_LOCAL_DEVICE_IDS": devices[rank] if devices else "",
        "TRAINING_ROLE": "TRAINER",
        "FLT_JOB_TOKEN": token,
    }
    if devices:
        variables["FLAGS_selected_gpus"] = devices[rank]
    # Only where nobody has said it: the cores are divided among the processes.
    if not os.environ.get("FLT_THREADS") and not os.environ.get("OMP_NUM_THREADS"):
        variables["OMP_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // count))
    if not os.environ.get("OMP_WAIT_POLICY") and not os.environ.get("GOMP_SPINCOUNT"):
        variables["GOMP_SPINCOUNT"] = "1000"
    return variables


class _Environment:
    """The environment of a child while it is started: libraries read it before our code runs."""

    lock = threading.Lock()

    def __init__(self, variables):
        self.variables = variables

    def __enter__(self):
        self.lock.acquire()
        self.before = dict(os.environ)
        for name in _OF_ANOTHER_JOB:
            os.environ.pop(name, None)
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for name in set(os.environ) - set(self.before):
            del os.environ[name]
        os.environ.update(self.before)
        self.lock.release()


def _run(func, args, pipe):
    """The life of a process: it ends with its parent, and tells how it failed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        pipe.send(("returned", func(*args)))
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    except Exception:
        pipe.send(("failed", (time.monotonic(), traceback.format_exc())))
        raise SystemExit(1) from None
    finally:
        pipe.close()


def _end_with_parent():
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os.kill(os.getpid(), signal.SIGKILL)
