"""The collective programs of the documents, as printed, on several workers."""

import os
import pathlib
import re
import subprocess
import textwrap

from job import FLEETRUN
from printed import document, fenced_programs


def test_four_workers_train_the_quick_start(tmp_path):
    """Spec 000: fleetrun --gpus 0,1,2,3 collective_trainer.py, on a machine without GPUs."""
    for name, block in zip(["model.py", "collective_trainer.py"], fenced_programs("000")):
        (tmp_path / name).write_text(block)
    done = subprocess.run(
        [FLEETRUN, "--gpus", "0,1,2,3", "collective_trainer.py"],
        cwd=tmp_path,
        env={**os.environ, "FLT_DOWNLOAD": "0", "FLT_DATASET_LIMIT": "2048"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    logs = {rank: (tmp_path / "log" / f"workerlog.{rank}").read_text() for rank in range(4)}
    assert done.returncode == 0, done.stderr + str(logs)
    assert "CPU" in done.stdout + done.stderr


# What the document leaves undefined: the network's module, the loader and the optimizer.
PRELUDE = """
import os, sys, types
import numpy as np
sys.path.append(os.environ["ORACLE"])
import paddle

class ResNet:
    def __init__(self, layers):
        self.layers = layers

    def net(self, input, class_dim):
        import models
        from resnet import resnet
        return resnet(models.StaticLayers, input, self.layers, class_dim=class_dim)

resnet, class_dim = types.SimpleNamespace(ResNet=ResNet), 102

def get_train_loader(feed_list, place):
    def batches():
        images = np.random.RandomState(int(os.environ["PADDLE_TRAINER_ID"]))
        yield images.rand(2, 3, 224, 224).astype("float32"), images.randint(0, 102, (2, 1))

    loader = paddle.io.DataLoader.from_generator(feed_list=feed_list, capacity=2)
    return loader.set_batch_generator(batches, places=place)

def optimizer_setting():
    return paddle.optimizer.Momentum(0.001, momentum=0.9)
"""


def test_resnet50_on_two_workers(tmp_path):
    """Spec 001: fleetrun --gpus=0,1 train_fleet_static.py, with its printed lines."""
    blocks = re.findall(r"^\.\. code-block:: py\n\n((?: {3}.*\n|\n)+)", document("001"), re.M)
    (program,) = [textwrap.dedent(block) for block in blocks if "fleet.init" in block]
    (tmp_path / "train_fleet_static.py").write_text(PRELUDE + program + "\ntrain_resnet()\n")
    done = subprocess.run(
        [FLEETRUN, "--gpus=0,1", "train_fleet_static.py"],
        cwd=tmp_path,
        env={**os.environ, "ORACLE": str(pathlib.Path(__file__).parents[1] / "oracle")},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log" / "workerlog.0").read_text()
    assert (
        "Find all_reduce operators: 161. To make the speed faster, some all_reduce ops are fused "
        "during training, after fusion, the number of all_reduce ops is 5." in log
    )
    line = r"\[Epoch (\d+), batch 0\] loss: (\d+\.\d{5}), acc1: \d\.\d{5}, acc5: \d\.\d{5}"
    found = re.findall(line, log)
    assert [int(epoch) for epoch, _ in found] == list(range(10))
    assert float(found[-1][1]) < float(found[0][1])
