"""The MNIST MLP (batch 64, Adam, one thread) fed by a loader that shuffles, and by fixed arrays.

A variant is a way of feeding. Each runs in its own process; rounds go round the variants. The rate
of a variant is its part of the steps/s with a fixed feed of the same side.
"""

import statistics
import types

from . import Row

TITLE = "MLP step fed by a loader, batch 64, Adam, shuffled, 1 thread"
VARIANTS = ("fixed", "tensors", "mnist", "samples", "workers1", "workers2", "generator")
NAMES = {
    "fixed": "fixed feed",
    "tensors": "DataLoader, TensorDataset",
    "mnist": "DataLoader, vision MNIST",
    "samples": "DataLoader, user's Dataset",
    "workers1": "DataLoader, user's Dataset, 1 worker",
    "workers2": "DataLoader, user's Dataset, 2 workers",
    "generator": "from_generator, batches",
}
GOAL = 90.0  # percent, for the loaders that need no Python per sample


def cases(quick):
    from run import FLOTILLA, TORCH, Worker

    case = types.SimpleNamespace(name="mlp", threads=1)
    workers = []
    for side, module in ((FLOTILLA, "feeding.loader_paddle"), (TORCH, "feeding.loader_torch")):
        if side.absent():
            yield Row(TITLE, side.name, None, "steps/s", side.absent())
            continue
        side = type(side)(side.name, side.python, module, side.package)
        workers += [Worker(side, case, variant) for variant in VARIANTS]
    good = [worker for worker in workers if not worker.failed]
    span = 0.15 if quick else 0.5
    counts = {worker: max(1, round(span / worker.steps(20))) for worker in good}
    for _ in range(3 if quick else 11):
        for worker in good:
            worker.seconds.append(worker.steps(counts[worker]))
    for worker in workers:
        yield from rows_of(worker, good)
    for worker in good:
        worker.close()


def rows_of(worker, good):
    name = f"{worker.side.name}, {NAMES[worker.variant]}"
    if worker.failed:
        if "no such variant" not in worker.failed:
            yield Row(TITLE, name, None, "steps/s", worker.failed)
        return
    rate = 1 / min(worker.seconds)
    fixed = [w for w in good if w.side == worker.side and w.variant == "fixed"]
    note, goal = "", None
    if worker.variant != "fixed" and fixed:
        base = 1 / min(fixed[0].seconds)
        median = statistics.median(fixed[0].seconds) / statistics.median(worker.seconds)
        note = f"{100 * rate / base:.1f} % of the fixed feed (median {100 * median:.1f} %)"
        if worker.side.name == "Flotilla" and worker.variant in ("tensors", "mnist"):
            goal = base * GOAL / 100
    yield Row(TITLE, name, rate, "steps/s", note, goal)
