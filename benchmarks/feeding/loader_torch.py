"""The loaders of the MLP in PyTorch; run by worker.py in a process of its own."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torch_side

BATCH, COUNT = 64, 60000


def version():
    return torch.__version__


def build(case, variant, threads):
    """A function that takes one batch from the loader and runs one step (fused Adam)."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net, loss_of, optimizer = torch_side.mlp("fused")
    batches = endless(loader_of(variant))

    def step():
        x, y = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(net, x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def endless(loader):
    while True:
        yield from loader


def images():
    generator = np.random.RandomState(7)
    x = generator.randint(0, 256, (COUNT, 1, 28, 28)).astype("uint8")
    y = generator.randint(0, 10, (COUNT, 1)).astype("int64")
    return (x / np.float32(127.5) - 1).astype("float32"), y


class Samples(Dataset):
    """What a user writes: one sample at a time, in Python."""

    def __init__(self):
        self.x, self.y = images()

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


def loader_of(variant):
    if variant == "fixed":
        x, y = map(torch.from_numpy, images())
        return [(x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, 4 * BATCH, BATCH)]
    if variant == "tensors":
        dataset, workers = TensorDataset(*map(torch.from_numpy, images())), 0
    elif variant in ("samples", "workers1", "workers2"):
        dataset, workers = Samples(), {"samples": 0, "workers1": 1, "workers2": 2}[variant]
    else:
        raise ValueError("no such variant")
    return DataLoader(dataset, BATCH, shuffle=True, drop_last=True, num_workers=workers)
