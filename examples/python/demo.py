"""Trains a small network on handwritten digits, in front of you, and prints its test accuracy:
first in one process, then in two that exchange their gradients.

    ./demo [--epochs N] [--steps N] [--workers N]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import paddle
import paddle.static.nn as nn
from _flotilla import find_mnist, read_mnist
from paddle.distributed import fleet

BATCH = 64  # of all workers together


def network():
    """Two hidden layers of 128, as in Paddle's Fleet quick start."""
    x = paddle.static.data(name="x", shape=[None, 1, 28, 28], dtype="float32")
    y = paddle.static.data(name="y", shape=[None, 1], dtype="int64")
    flat = paddle.reshape(x, [-1, 784])
    hidden = nn.fc(flat, size=128, activation="tanh")
    hidden = nn.fc(hidden, size=128, activation="tanh")
    prediction = nn.fc(hidden, size=10, activation="softmax")
    cost = paddle.fluid.layers.cross_entropy(input=prediction, label=y)
    accuracy = paddle.fluid.layers.accuracy(input=prediction, label=y, k=1)
    return paddle.fluid.layers.mean(x=cost), accuracy


def feed(images, labels):
    """A batch as the network takes it: pixels from 0 to 1."""
    pixels = images.reshape(-1, 1, 28, 28) * np.float32(1 / 255)
    return {"x": pixels, "y": labels.reshape(-1, 1).astype("int64")}


class Progress:
    """One line that grows, on a terminal; otherwise one line for each epoch."""

    WIDTH, INTERVAL = 24, 0.1  # characters, seconds

    def __init__(self, epochs, total):
        self.epochs, self.total = epochs, total
        self.live = sys.stdout.isatty()
        self.shows = fleet.is_first_worker()
        self.begun = self.shown = time.perf_counter()
        self.step, self.sums, self.count = 0, np.zeros(2), 0

    def update(self, epoch, position, length, loss, accuracy):
        self.step += 1
        self.sums += float(loss), float(accuracy)
        self.count += 1
        last = position + 1 == length or self.step == self.total
        now = time.perf_counter()
        if not self.shows:
            return
        if last or (self.live and now - self.shown > self.INTERVAL):
            self.show(epoch, (position + 1) / length, now, last)
            if last:
                self.sums[:], self.count = 0, 0

    def show(self, epoch, done, now, last):
        loss, accuracy = self.sums / self.count
        rate = self.step / (now - self.begun)
        full = round(done * self.WIDTH)
        bar = f"[{'#' * full}{'.' * (self.WIDTH - full)}] " if self.live else ""
        text = f"epoch {epoch + 1}/{self.epochs} {bar}{rate:5.0f} steps/s"
        text += f"  loss {loss:.4f}  accuracy {accuracy:.4f}"
        print(("\r" if self.live else "") + text, end="\n" if last or not self.live else "")
        sys.stdout.flush()
        self.shown = now


def train(executor, data, cost, accuracy, epochs, steps):
    images, labels = data
    program = paddle.static.default_main_program()
    per_epoch = len(images) // BATCH
    total = min(epochs * per_epoch, steps or sys.maxsize)
    progress = Progress(epochs, total)
    generator = np.random.RandomState(1)
    mine = slice(fleet.worker_index(), None, fleet.worker_num())
    for epoch in range(epochs):
        order = generator.permutation(len(images))
        for i in range(per_epoch):
            if progress.step == total:
                return
            chosen = order[i * BATCH : (i + 1) * BATCH][mine]
            batch = feed(images[chosen], labels[chosen])
            loss, acc = executor.run(program, feed=batch, fetch_list=[cost, accuracy])
            progress.update(epoch, i, per_epoch, loss, acc)


def work(args):
    """What every worker does; one process alone is a fleet of one."""
    files = find_mnist()
    paddle.enable_static()
    paddle.seed(1)
    fleet.init(is_collective=True)
    # A step takes half a millisecond: too little to be worth sharing out to threads.
    paddle.set_flags({"FLAGS_paddle_num_threads": 1})
    cost, accuracy = network()
    test_program = paddle.static.default_main_program().clone(for_test=True)
    optimizer = fleet.distributed_optimizer(paddle.fluid.optimizer.Adam(learning_rate=0.001))
    optimizer.minimize(cost)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())

    data = read_mnist(files.train_images, files.train_labels)
    begun = time.perf_counter()
    train(executor, data, cost, accuracy, args.epochs, args.steps)
    seconds = time.perf_counter() - begun
    if fleet.is_first_worker():
        test = feed(*read_mnist(files.test_images, files.test_labels))
        (result,) = executor.run(test_program, feed=test, fetch_list=[accuracy])
        who = "one process" if fleet.worker_num() == 1 else f"{fleet.worker_num()} workers"
        print(f"{who}: trained in {seconds:.1f} s, test accuracy: {float(result):.4f}")


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("--epochs", type=int, default=5, help="times through the training data")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    parser.add_argument("--workers", type=int, default=2, help="of the second run; 0: none")
    args = parser.parse_args()
    if "PADDLE_TRAINER_ID" in os.environ:  # this is one of the workers
        return work(args)
    print(find_mnist().description)
    work(args)
    if args.workers < 1:
        return None
    print(f"\nthe same with fleetrun --nproc_per_node={args.workers}", flush=True)
    fleetrun = pathlib.Path(sys.executable).with_name("fleetrun")
    logs = pathlib.Path(__file__).resolve().parents[2] / "build" / "demo-log"
    options = ["--quiet", f"--log_dir={logs}", f"--nproc_per_node={args.workers}", __file__]
    return subprocess.run([fleetrun, *options, *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
