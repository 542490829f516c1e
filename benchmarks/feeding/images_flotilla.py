"""JPEG files to batches with Flotilla; run by worker.py in a process of its own."""

import itertools

import numpy as np
import paddle
from paddle.io._arrays import arrays_of
from paddle.vision import transforms as T
from paddle.vision.datasets import DatasetFolder

BATCH = 16
MOVES = {
    "eval": (T.Resize(256), T.CenterCrop(224)),
    "train": (T.RandomResizedCrop(224), T.RandomHorizontalFlip()),
}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def version():
    return paddle.__version__


def build(case, variant, threads):
    """A function that makes one batch."""
    task, folder = case.split(":", 1)
    transform = T.Compose([*MOVES[task], T.ToTensor(), T.Normalize(MEAN, STD)])
    dataset = DatasetFolder(folder, transform=transform)
    orders = itertools.cycle(range(0, len(dataset), BATCH))
    if variant == "fused":
        images, labels = arrays_of(dataset)
        images.threads = threads

        def step():
            indices = np.arange(BATCH) + next(orders)
            return images.take(indices), labels.take(indices)

        return step
    if variant != "steps":
        raise ValueError("no such variant")

    def step():
        first = next(orders)
        images, labels = zip(*(dataset[i] for i in range(first, first + BATCH)))
        return np.stack(images), np.array(labels)

    return step
