"""Wide&Deep (batch 512, 26 slots, SGD) trained from files, and by feeds that were made before.

A variant is a way of feeding; each runs in its own process and rounds go round the variants. A step
is a pass over all batches. The goal is a part of the rate with feeds made before, on the same side.
"""

import os
import statistics
import tempfile
import types
from pathlib import Path

import numpy as np

import data

from . import Row

TITLE = "Wide&Deep from files, batch 512, 26 slots, 2 cores"
BATCHES, FILES = 48, 4
NAMES = {
    "fixed": "feeds made before",
    "queue": "QueueDataset, train_from_dataset",
    "memory": "InMemoryDataset, train_from_dataset",
    "threads": "QueueDataset, 2 threads",
}
GOAL = 90.0  # percent


def cases(quick):
    from run import FLOTILLA, PADDLE, Worker

    case = types.SimpleNamespace(name="wide_deep", threads=2)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.environ["FLT_BENCH_FILES"] = folder
        workers = []
        for side in (FLOTILLA, PADDLE):
            if side.absent():
                yield Row(TITLE, side.name, None, "batches/s", side.absent())
                continue
            side = type(side)(side.name, side.python, "feeding.dataset_paddle", side.package)
            workers += [Worker(side, case, variant) for variant in NAMES]
        good = [worker for worker in workers if not worker.failed]
        for _ in range(3 if quick else 9):
            for worker in good:
                worker.seconds.append(worker.steps(1) / BATCHES)
        for worker in workers:
            yield row_of(worker, good)
        for worker in good:
            worker.close()


def write_files(folder):
    """Multi-slot text in the order dense_input, C0 to C25, label."""
    generator = np.random.RandomState(7)
    for number in range(FILES):
        with open(folder / f"part-{number}", "w") as file:
            for _ in range(BATCHES // FILES):
                for ids, dense, label in zip(*data.clicks(generator)):
                    slots = " ".join(f"1 {i}" for i in ids)
                    values = " ".join(f"{v:.6f}" for v in dense)
                    file.write(f"{len(dense)} {values} {slots} 1 {label[0]}\n")


def row_of(worker, good):
    name = f"{worker.side.name}, {NAMES[worker.variant]}"
    if worker.failed:
        return Row(TITLE, name, None, "batches/s", worker.failed)
    rate, note, goal = 1 / min(worker.seconds), "", None
    fixed = [w for w in good if w.side == worker.side and w.variant == "fixed"]
    if worker.variant != "fixed" and fixed:
        base = 1 / min(fixed[0].seconds)
        median = statistics.median(fixed[0].seconds) / statistics.median(worker.seconds)
        note = f"{100 * rate / base:.1f} % of feeds made before (median {100 * median:.1f} %)"
        if worker.side.name == "Flotilla" and worker.variant != "threads":
            goal = base * GOAL / 100
    return Row(TITLE, name, rate, "batches/s", note, goal)
