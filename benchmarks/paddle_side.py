"""The benchmark's models in the words of Paddle's 2.x API; Flotilla and Paddle both run it."""

import sys
from pathlib import Path

import paddle
from paddle import static

import data

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "oracle"))


def version():
    return paddle.__version__


def build(case, variant, threads):
    """A function that runs one training step and returns the loss."""
    import models

    paddle.enable_static()
    builders = {
        "mlp": models.mlp,
        "resnet50": models.resnet_of(50, size=224, class_dim=102),
        "wide_deep": wide_deep,
    }
    optimizers = {
        "mlp": lambda: paddle.optimizer.Adam(learning_rate=0.001),
        "resnet50": models.momentum,
        "wide_deep": lambda: paddle.optimizer.SGD(learning_rate=0.0001),
    }
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = builders[case]()
        loss = loss[0] if isinstance(loss, tuple) else loss
        optimizers[case]().minimize(loss)
    executor = static.Executor(paddle.CPUPlace())
    executor.run(startup)
    batches = data.batches(case)
    feeds = [feed_of(case, next(batches)) for _ in range(4)]
    position = iter(range(1 << 62))

    def step():
        return executor.run(main, feed=feeds[next(position) % 4], fetch_list=[loss])

    return step


def wide_deep():
    import models
    import paddle.nn.functional as F

    dense = static.data("dense_input", [None, data.DENSE], "float32")
    ids = [static.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(data.SLOTS)]
    label = static.data("label", [None, 1], "int64")
    net = models.WideDeep(data.TABLE_ROWS, data.EMBEDDING, data.SLOTS, data.DENSE, data.LAYERS)
    cost = F.log_loss(input=net.forward(ids, dense), label=paddle.cast(label, dtype="float32"))
    return paddle.mean(x=cost)


def feed_of(case, batch):
    if case != "wide_deep":
        return {"x": batch[0], "y": batch[1]}
    ids, dense, label = batch
    columns = {f"C{i}": ids[:, i : i + 1].copy() for i in range(data.SLOTS)}
    return {**columns, "dense_input": dense, "label": label}
