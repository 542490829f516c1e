"""What the examples share: their options, and the loop that prints a loss for each step.

The twins in examples/cpp print the same losses, bit for bit, when both start from parameters that
follow from names and shapes (``--init 1``).
"""

import argparse

import numpy as np
import paddle
from _flotilla import find_mnist, integers_by_rule, parameter_by_rule, read_mnist, uniform_by_rule

paddle.enable_static()
uniform, integers = uniform_by_rule, integers_by_rule


def parse(**defaults):
    """Options from the command line: ``steps=20`` is ``--steps 20``."""
    parser = argparse.ArgumentParser()
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def set_parameters_by_rule(program):
    """Give every trainable parameter the value that follows from its name and shape."""
    scope = paddle.static.global_scope()
    for parameter in program.all_parameters():
        if parameter.trainable:
            value = parameter_by_rule(parameter.name, parameter.shape)
            scope.find_var(parameter.name).get_tensor().set(value, paddle.CPUPlace())


def train(loss, steps, parameters_by_rule, batch):
    """Train the current main program: one batch for each step, one line with its loss."""
    main = paddle.static.default_main_program()
    paddle.seed(1)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    if parameters_by_rule:
        set_parameters_by_rule(main)
    for step in range(steps):
        (value,) = executor.run(main, feed=batch(step), fetch_list=[loss])
        print(f"{value.item():.9g}")


class Digits:
    """Batches of digits: MNIST where it is on this machine, otherwise what Flotilla draws."""

    def __init__(self, batch):
        files = find_mnist()
        self.images, self.labels = read_mnist(files.train_images, files.train_labels)
        self.batch = batch

    def feeds(self, step):
        """Pixels from 0 to 1 and labels, in the order of the set."""
        chosen = [(step * self.batch + i) % len(self.labels) for i in range(self.batch)]
        pixels = self.images[chosen].reshape(-1, 1, 28, 28).astype("float32")
        return {
            "x": pixels * np.float32(1 / 255),
            "y": self.labels[chosen].reshape(-1, 1).astype("int64"),
        }


class DigitSet(paddle.io.Dataset):
    """The same digits one by one, for a ``DataLoader``."""

    def __init__(self):
        files = find_mnist()
        self.images, self.labels = read_mnist(files.train_images, files.train_labels)

    def __getitem__(self, i):
        pixels = self.images[i].reshape(1, 28, 28).astype("float32")
        return pixels * np.float32(1 / 255), self.labels[i : i + 1].astype("int64")

    def __len__(self):
        return len(self.labels)
