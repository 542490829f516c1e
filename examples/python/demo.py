"""A tour: the same small network learns handwritten digits in one process, then in two that average
their gradients, then in two whose parameters a server keeps.

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
ON_SPEED = (
    "More processes gain little or nothing here, because they share the cores of one machine, and exchanging\n"
    "the gradients of so small a network costs about as much time as they save on each step of a millisecond."
)


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
        self.losses, self.accuracies = [], []
        self.first = 0  # step of this epoch

    @property
    def step(self):
        return len(self.losses)

    def update(self, epoch, position, length, loss, accuracy):
        self.losses.append(float(loss))
        self.accuracies.append(float(accuracy))
        last = position + 1 == length or self.step == self.total
        now = time.perf_counter()
        if self.shows and (last or (self.live and now - self.shown > self.INTERVAL)):
            self.show(epoch, (position + 1) / length, now, last)
        if last:
            self.first = self.step

    def show(self, epoch, done, now, last):
        loss, accuracy = np.mean(self.losses[self.first :]), np.mean(self.accuracies[self.first :])
        rate = self.step / (now - self.begun)
        full = round(done * self.WIDTH)
        bar = f"[{'#' * full}{'.' * (self.WIDTH - full)}] " if self.live else ""
        text = f"epoch {epoch + 1}/{self.epochs} {bar}{rate:5.0f} steps/s"
        text += f"  loss {loss:.4f}  accuracy {accuracy:.4f}"
        print(("\r" if self.live else "") + text, end="\n" if last or not self.live else "")
        sys.stdout.flush()
        self.shown = now


def curve(losses, width=60, height=5):
    """The losses as lines of text, the first on top of the left; each column is a mean of some."""
    blocks = " ▁▂▃▄▅▆▇█"
    try:
        blocks.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        blocks = " ...:::##"
    columns = [part.mean() for part in np.array_split(np.array(losses), min(width, len(losses)))]
    top = max(columns)
    eighths = [max(1, round(value / top * height * 8)) for value in columns]
    lines = []
    for row in reversed(range(height)):
        label = {height - 1: f"{top:.2f}", 0: "0.00"}.get(row, "")
        cells = "".join(blocks[min(8, max(0, one - 8 * row))] for one in eighths)
        lines.append(f"{label:>6} |{cells.rstrip()}")
    lines.append(f"{'loss':>6} +{'-' * len(columns)} {len(losses)} steps")
    return lines


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
                return progress
            chosen = order[i * BATCH : (i + 1) * BATCH][mine]
            batch = feed(images[chosen], labels[chosen])
            loss, acc = executor.run(program, feed=batch, fetch_list=[cost, accuracy])
            progress.update(epoch, i, per_epoch, loss, acc)
    return progress


def who():
    if fleet.server_num():
        return f"{fleet.server_num()} server, {fleet.worker_num()} workers"
    return "one process" if fleet.worker_num() == 1 else f"{fleet.worker_num()} workers"


def work(args):
    """What every process does; one alone is a fleet of one."""
    paddle.enable_static()
    paddle.seed(1)
    served = bool(os.environ.get("PADDLE_PSERVERS_IP_PORT_LIST"))
    fleet.init(is_collective=not served)
    # A step takes half a millisecond: too little to be worth sharing out to threads.
    paddle.set_flags({"FLAGS_paddle_num_threads": 1})
    cost, accuracy = network()
    test_program = paddle.static.default_main_program().clone(for_test=True)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False  # servers wait for all workers in every step
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate=0.001), strategy)
    optimizer.minimize(cost)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return

    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    files = find_mnist()
    data = read_mnist(files.train_images, files.train_labels)
    begun = time.perf_counter()
    progress = train(executor, data, cost, accuracy, args.epochs, args.steps)
    seconds = time.perf_counter() - begun
    if fleet.is_first_worker():
        test = feed(*read_mnist(files.test_images, files.test_labels))
        (result,) = executor.run(test_program, feed=test, fetch_list=[accuracy])
        print("\n".join(curve(progress.losses)))
        print(
            f"{who()}: trained in {seconds:.1f} s, test accuracy: {float(result):.4f}", flush=True
        )
    fleet.stop_worker()


def main():
    parser = argparse.ArgumentParser(description=" ".join(__doc__.split("\n\n")[0].split()))
    parser.add_argument("--epochs", type=int, default=5, help="times through the training data")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    parser.add_argument(
        "--workers", type=int, default=2, help="of the later runs; 0: none of these"
    )
    args = parser.parse_args()
    if "TRAINING_ROLE" in os.environ or "PADDLE_TRAINER_ID" in os.environ:  # of a job below
        return work(args)
    print(find_mnist().description)
    print("\n1. in this process", flush=True)
    work(args)
    fleetrun = pathlib.Path(sys.executable).with_name("fleetrun")
    logs = pathlib.Path(__file__).resolve().parents[2] / "build" / "demo-log"
    jobs = [
        ("that average their gradients", [f"--nproc_per_node={args.workers}"]),
        ("whose parameters a server keeps", ["--server_num=1", f"--worker_num={args.workers}"]),
    ]
    for number, (what, options) in enumerate(jobs if args.workers else (), 2):
        print(f"\n{number}. in {args.workers} processes {what}: fleetrun {' '.join(options)}")
        sys.stdout.flush()
        command = [fleetrun, "--quiet", f"--log_dir={logs}", *options, __file__, *sys.argv[1:]]
        code = subprocess.run(command, check=False).returncode
        if code:
            return code
    if args.workers:
        print(f"\n{ON_SPEED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
