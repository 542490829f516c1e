"""The loaders of the MLP in Paddle's words; run by worker.py in a process of its own."""

import numpy as np
import paddle

import paddle_side

BATCH, COUNT = 64, 60000


def version():
    return paddle.__version__


def build(case, variant, threads):
    """A function that takes one batch from the loader and runs one step."""
    main, loss, executor = paddle_side.trained(paddle_side.mlp)
    feed_list = [main.global_block().var(name) for name in ("x", "y")]
    batches = endless(loader_of(variant, feed_list))

    def step():
        return executor.run(main, feed=next(batches), fetch_list=[loss])

    return step


def endless(loader):
    while True:
        yield from loader


def images():
    generator = np.random.RandomState(7)
    x = generator.randint(0, 256, (COUNT, 1, 28, 28)).astype("uint8")
    y = generator.randint(0, 10, (COUNT, 1)).astype("int64")
    return (x / np.float32(127.5) - 1).astype("float32"), y


class Samples(paddle.io.Dataset):
    """What a user writes: one sample at a time, in Python."""

    def __init__(self):
        super().__init__()
        self.x, self.y = images()

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


def loader_of(variant, feed_list):
    if variant == "fixed":
        x, y = images()
        return [{"x": x[i : i + BATCH], "y": y[i : i + BATCH]} for i in range(0, 4 * BATCH, BATCH)]
    common = {"feed_list": feed_list, "places": paddle.CPUPlace()}
    if variant == "generator":
        x, y = images()
        loader = paddle.io.DataLoader.from_generator(feed_list, capacity=16)

        def batches():
            order = np.random.permutation(COUNT)
            for i in range(0, COUNT - BATCH + 1, BATCH):
                yield x[order[i : i + BATCH]], y[order[i : i + BATCH]]

        return loader.set_batch_generator(batches, places=paddle.CPUPlace())
    if variant == "tensors":
        dataset, workers = paddle.io.TensorDataset(list(images())), 0
    elif variant == "mnist":
        dataset, workers = paddle.vision.datasets.MNIST(mode="train"), 0
    else:
        dataset, workers = Samples(), {"samples": 0, "workers1": 1, "workers2": 2}[variant]
    return paddle.io.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, drop_last=True, num_workers=workers, **common
    )
