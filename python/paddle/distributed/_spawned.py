"""What a process of ``paddle.distributed.spawn`` runs.

It is started as a file, with nothing of paddle: where that is, the parent says.
"""

import sys

if __file__ == f"{sys.path[0]}/_spawned.py":
    del sys.path[0]  # names of this folder may be those of the standard library, too

import multiprocessing.process  # noqa: E402
import multiprocessing.reduction  # noqa: E402
import multiprocessing.resource_tracker  # noqa: E402
import multiprocessing.spawn  # noqa: E402
import os  # noqa: E402
import pickle  # noqa: E402
import signal  # noqa: E402
import traceback  # noqa: E402


def _read(work):
    """Become what the parent is; the function and its arguments."""
    process = multiprocessing.process.current_process()
    process._inheriting = True  # a script without its ``if __name__ == "__main__"`` is told so
    try:
        # Opened anew: the ranks share the descriptor, and its position.
        with open(f"/proc/self/fd/{work}", "rb") as file:
            os.close(work)
            multiprocessing.spawn.prepare(pickle.load(file))
            return pickle.load(file)
    finally:
        del process._inheriting


def _main(tracker, work, *results):
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    for other in results[:rank] + results[rank + 1 :]:
        os.close(other)
    os.set_inheritable(results[rank], False)
    # Shared memory and semaphores have one owner, the parent.
    multiprocessing.resource_tracker._resource_tracker._fd = tracker
    code = 0
    try:
        func, args = _read(work)
        multiprocessing.process.current_process().name = f"worker {rank}"
        said = multiprocessing.reduction.ForkingPickler.dumps(("returned", func(*args)))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception:
        said = pickle.dumps(("failed", traceback.format_exc()))
        code = 1
    with os.fdopen(results[rank], "wb") as file:
        file.write(said)
    sys.exit(code)


if __name__ == "__main__":
    _main(*map(int, sys.argv[1:]))
