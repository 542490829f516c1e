"""JPEG files to batches with torchvision; run by worker.py in a process of its own."""

import itertools

import torch
import torchvision
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import v2

BATCH = 16
MOVES = {
    "eval": (v2.Resize(256), v2.CenterCrop(224)),
    "train": (v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()),
}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def version():
    return torchvision.__version__


def as_tensor(path):
    return decode_image(read_file(path), ImageReadMode.RGB)


def build(case, variant, threads):
    """A function that makes one batch."""
    torch.set_num_threads(threads)
    task, folder = case.split(":", 1)
    to_float = (v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD))
    transform = v2.Compose([*MOVES[task], *to_float])
    if variant == "tensor":
        dataset = ImageFolder(folder, transform=transform, loader=as_tensor)
    elif variant == "pillow":
        dataset = ImageFolder(folder, transform=transform)
    else:
        raise ValueError("no such variant")
    orders = itertools.cycle(range(0, len(dataset), BATCH))

    def step():
        first = next(orders)
        images, labels = zip(*(dataset[i] for i in range(first, first + BATCH)))
        return torch.stack(images), torch.tensor(labels)

    return step
