"""JPEG files to what a network is fed, one thread: decode, resize, crop, flip, normalise.

"eval" is Resize(256), CenterCrop(224); "train" RandomResizedCrop(224) and a flip; both then
normalise to float32 [3, 224, 224]. The files are painted once for the run: 500 x 375 pixels, about
60 kB. A variant runs in its own process; rounds go round the variants. torchvision runs with its own
decoder and tensors, and with Pillow's images.
"""

import tempfile
import types
from pathlib import Path

from . import Row

SIDES = {
    "fused": ("feeding.images_flotilla", "DatasetFolder, read in C++"),
    "steps": ("feeding.images_flotilla", "DatasetFolder, transform by transform"),
    "tensor": ("feeding.images_torch", "torchvision.io and transforms.v2 on tensors"),
    "pillow": ("feeding.images_torch", "torchvision transforms on Pillow's images"),
}
BATCH = 16


def paint(folder, count=48):
    """JPEGs with shades at several scales and some noise, as photographs have them."""
    import _flotilla as core
    import numpy as np

    random = np.random.RandomState(3)
    for i in range(count):
        picture = np.zeros((375, 500, 3), np.float32)
        for cells, strength in ((3, 90), (9, 50), (40, 24), (160, 12)):
            noise = random.normal(0, strength, (cells, cells * 4 // 3, 3)).astype(np.float32)
            picture += core.resize_image(noise, 375, 500, "bicubic", "cv2")
        pixels = (picture + 120).clip(0, 255).astype(np.uint8)
        path = Path(folder, f"class{i % 4}", f"{i}.jpg")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(core.encode_jpeg(pixels, 90))


def cases(quick):
    from run import FLOTILLA, TORCH

    with tempfile.TemporaryDirectory() as folder:
        paint(folder)
        for task in ("eval", "train"):
            yield from measured(task, folder, quick, FLOTILLA, TORCH)


def measured(task, folder, quick, flotilla, torch):
    from run import Worker

    title = f"JPEG files to batches, {task}, 1 thread"
    case = types.SimpleNamespace(name=f"{task}:{folder}", threads=1)
    workers = []
    for variant, (module, name) in SIDES.items():
        side = flotilla if module.endswith("flotilla") else torch
        if side.absent():
            yield Row(title, name, None, "images/s", side.absent())
            continue
        side = type(side)(name, side.python, module, side.package)
        workers.append(Worker(side, case, variant))
    good = [worker for worker in workers if not worker.failed]
    for _ in range(5 if quick else 15):
        for worker in good:
            worker.seconds.append(worker.steps(1 if quick else 3))
    rates = {worker.variant: BATCH / min(worker.seconds) for worker in good}
    rivals = [rate for variant, rate in rates.items() if variant in ("tensor", "pillow")]
    for worker in workers:
        rate = rates.get(worker.variant)
        goal = max(rivals) if worker.variant == "fused" and rivals else None
        yield Row(title, worker.side.name, rate, "images/s", worker.failed or "", goal)
        if not worker.failed:
            worker.close()
