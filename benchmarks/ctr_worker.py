"""One process of a Wide&Deep job on parameter servers.

    ctr_worker.py MODULE MODE SECONDS FOLDER

A server serves. A worker trains, and tells in FOLDER/result.RANK how fast it was in the window that
it shares with the others: a second after the last of them was warm it opens, for SECONDS.
"""

import importlib
import itertools
import json
import math
import os
import sys
import time
import zlib  # noqa: F401 - before Paddle, as in worker.py
from pathlib import Path

import data

WARM_UP = 50  # steps
BATCHES = 64  # that a worker goes round


def feeds(rank):
    """An endless iterator over the worker's own batches, each as executors take it."""
    batches = data.batches("ctr", BATCHES, seed=7 + rank)
    made = [data.clicks_feed(*batch) for batch in itertools.islice(batches, BATCHES)]
    return itertools.cycle(made)


def tell(path, value):
    """Writes a file that is whole as soon as others see it."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value))
    part.rename(path)


def measure(step, rank, workers, seconds, folder):
    """Samples per second in the window."""
    ring = feeds(rank)
    for _ in range(WARM_UP):
        step(next(ring))
    tell(folder / f"warm.{rank}", time.monotonic())
    warm = [folder / f"warm.{worker}" for worker in range(workers)]
    while not all(path.exists() for path in warm):
        step(next(ring))
    opens = 1 + max(json.loads(path.read_text()) for path in warm)
    while time.monotonic() < opens:
        step(next(ring))
    steps, begin, now = 0, time.monotonic(), 0.0
    while now < opens + seconds:
        loss = step(next(ring))
        steps, now = steps + 1, time.monotonic()
    if not math.isfinite(loss[0]):
        sys.exit(f"the loss after {steps} steps is {loss[0]}")
    return steps * data.CLICKS / (now - begin)


def main():
    module, mode, seconds, folder = sys.argv[1:]
    role = importlib.import_module(module).build(mode)
    if not role:
        return
    step, stop = role
    rank, workers = (int(os.environ[f"PADDLE_{word}"]) for word in ("TRAINER_ID", "TRAINERS_NUM"))
    found = measure(step, rank, workers, float(seconds), Path(folder))
    tell(Path(folder) / f"result.{rank}", found)
    stop()


main()
