"""Five models in a small size, trained for a few steps on the CPU or on a GPU.

    models.py NAME cpu|gpu      prints the loss of each step and a hash of what was learnt, as JSON
"""

import hashlib
import json
import sys

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import fluid, static

STEPS = 20
paddle.enable_static()
draw = np.random.default_rng(7)


def real(*shape):
    return draw.uniform(-1, 1, shape).astype("float32")


def whole(below, *shape):
    return draw.integers(0, below, shape)


def linear_regression():
    x, y = static.data("x", [None, 13]), static.data("y", [None, 1])
    loss = paddle.mean(F.square_error_cost(static.nn.fc(x, 1), y))
    paddle.optimizer.SGD(learning_rate=0.01).minimize(loss)
    return loss, lambda: {"x": real(20, 13), "y": 20 + 5 * real(20, 1)}


def mlp():
    x, y = static.data("x", [None, 1, 28, 28]), static.data("y", [None, 1], "int64")
    hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), 128, activation="tanh")
    hidden = static.nn.fc(hidden, 128, activation="relu")
    prediction = static.nn.fc(hidden, 10, activation="softmax")
    loss = paddle.mean(fluid.layers.cross_entropy(prediction, y))
    static.accuracy(prediction, y)
    paddle.optimizer.Adam(learning_rate=0.001).minimize(loss)
    return loss, lambda: {"x": real(64, 1, 28, 28), "y": whole(10, 64, 1)}


def conv_bn(x, filters, size=3, stride=1, act="relu"):
    x = fluid.layers.conv2d(
        x, filters, size, stride=stride, padding=(size - 1) // 2, bias_attr=False
    )
    return fluid.layers.batch_norm(x, act=act)


def resnet():
    """A stem, a block that keeps its input and one that halves it, as in ResNet50."""
    x, y = static.data("x", [None, 3, 64, 64]), static.data("y", [None, 1], "int64")
    h = conv_bn(x, 16, size=7, stride=2)
    h = fluid.layers.pool2d(h, pool_size=3, pool_type="max", pool_stride=2, pool_padding=1)
    for width, stride in ((16, 1), (32, 2)):
        inside = conv_bn(conv_bn(h, width, size=1), width, stride=stride)
        inside = conv_bn(inside, 4 * width, size=1, act=None)
        beside = conv_bn(h, 4 * width, size=1, stride=stride, act=None)
        h = fluid.layers.elementwise_add(beside, inside, act="relu")
    h = fluid.layers.pool2d(h, pool_type="avg", global_pooling=True)
    loss = F.cross_entropy(input=static.nn.fc(h, 10), label=y)
    decay = paddle.regularizer.L2Decay(1e-4)
    paddle.optimizer.Momentum(0.001, momentum=0.9, weight_decay=decay).minimize(loss)
    return loss, lambda: {"x": real(16, 3, 64, 64), "y": whole(10, 16, 1)}


def wide_deep():
    """Rows of one shared table for each of several features, beside dense ones."""
    dense, label = static.data("dense", [None, 13]), static.data("label", [None, 1], "int64")
    slots = [static.data(f"C{slot}", [None, 1], "int64") for slot in range(6)]
    table = paddle.ParamAttr(name="table")
    rows = [static.nn.embedding(s, [1000, 10], is_sparse=True, param_attr=table) for s in slots]
    deep = paddle.concat([*(paddle.reshape(row, [-1, 10]) for row in rows), dense], axis=1)
    for _ in range(3):
        deep = static.nn.fc(deep, 64, activation="relu")
    chance = F.sigmoid(paddle.add(static.nn.fc(dense, 1), static.nn.fc(deep, 1)))
    loss = paddle.mean(F.log_loss(chance, paddle.cast(label, "float32")))
    static.auc(paddle.concat([1 - chance, chance], axis=1), label)
    paddle.optimizer.SGD(learning_rate=0.01).minimize(loss)

    def batch():
        ids = {slot.name: whole(1000, 128, 1) for slot in slots}
        return {"dense": real(128, 13), "label": whole(2, 128, 1), **ids}

    return loss, batch


def clicks():
    """What workers of servers train: sums of the rows of many ids, and Adagrad, which keeps a state."""
    ids, label = static.data("ids", [None, 8], "int64"), static.data("label", [None, 1], "int64")
    rows = static.nn.embedding(ids, [5000, 8], is_sparse=True)
    hidden = static.nn.fc(paddle.sum(rows, axis=1), 32, activation="relu")
    loss = paddle.mean(F.softmax_with_cross_entropy(static.nn.fc(hidden, 2), label))
    paddle.optimizer.Adagrad(learning_rate=0.05).minimize(loss)
    return loss, lambda: {"ids": whole(5000, 256, 8) ** 2 % 5000, "label": whole(2, 256, 1)}


MODELS = {model.__name__: model for model in (linear_regression, mlp, resnet, wide_deep, clicks)}


def train(model, place):
    """The losses, exactly, and a hash of all parameters after the last step."""
    paddle.seed(1)
    loss, batch = model()
    executor = static.Executor(place)
    executor.run(static.default_startup_program())
    losses = [executor.run(feed=batch(), fetch_list=[loss])[0].item() for _ in range(STEPS)]
    learnt = hashlib.sha256()
    for parameter in static.default_main_program().all_parameters():
        found = static.global_scope().find_var(parameter.name).get_tensor()
        learnt.update(np.array(found).tobytes())
    return {"losses": [loss.hex() for loss in losses], "learnt": learnt.hexdigest()}


if __name__ == "__main__":
    name, device = sys.argv[1:]
    place = paddle.CPUPlace() if device == "cpu" else paddle.CUDAPlace(0)
    print(json.dumps(train(MODELS[name], place)))
