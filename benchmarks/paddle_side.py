"""The benchmark's models in the words of Paddle's 2.x API; Flotilla and Paddle both run it."""

import sys
from pathlib import Path

import paddle
import paddle.nn.functional as F
from paddle import static

import data

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "oracle"))

import models  # noqa: E402
from resnet import resnet  # noqa: E402


def version():
    return paddle.__version__


def trained(model, parallel=False):
    """A program that trains a model, its loss, and an executor that has started it."""
    paddle.enable_static()
    main, startup = static.Program(), static.Program()
    if parallel:
        paddle.distributed.fleet.init(is_collective=True)
    with static.program_guard(main, startup):
        loss, optimizer = model()
        if parallel:
            optimizer = paddle.distributed.fleet.distributed_optimizer(optimizer)
        optimizer.minimize(loss)
    executor = static.Executor(paddle.CUDAPlace(0) if data.ON_GPU else paddle.CPUPlace())
    executor.run(startup)
    return main, loss, executor


def build(case, variant, threads, parallel=False):
    """A function that runs one training step and returns the loss; `parallel`: with other ranks."""
    model = {"mlp": mlp, "resnet50": resnet50, "wide_deep": wide_deep}[case]
    main, loss, executor = trained(model, parallel)
    batches = data.batches(case)
    feeds = [feed_of(case, next(batches)) for _ in range(4)]
    position = iter(range(1 << 62))

    def step():
        return executor.run(main, feed=feeds[next(position) % 4], fetch_list=[loss])

    return step


def images(*shape):
    return static.data("x", [None, *shape], "float32"), static.data("y", [None, 1], "int64")


def mlp():
    x, y = images(1, 28, 28)
    hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), size=128, activation="tanh")
    hidden = static.nn.fc(hidden, size=128, activation="tanh")
    loss = F.cross_entropy(input=static.nn.fc(hidden, size=10), label=y)
    return loss, paddle.optimizer.Adam(learning_rate=0.001)


def resnet50():
    x, y = images(3, 224, 224)
    out = resnet(models.StaticLayers, x, 50, class_dim=102)
    return F.cross_entropy(input=out, label=y), models.momentum()


def wide_deep():
    dense = static.data("dense_input", [None, data.DENSE], "float32")
    ids = [static.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(data.SLOTS)]
    label = static.data("label", [None, 1], "int64")
    net = models.WideDeep(data.TABLE_ROWS, data.EMBEDDING, data.SLOTS, data.DENSE, data.LAYERS)
    cost = F.log_loss(input=net.forward(ids, dense), label=paddle.cast(label, dtype="float32"))
    return paddle.mean(x=cost), paddle.optimizer.SGD(learning_rate=0.0001)


def feed_of(case, batch):
    if case != "wide_deep":
        return {"x": batch[0], "y": batch[1]}
    return data.clicks_feed(*batch)
