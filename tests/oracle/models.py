"""The six models in the words of the 2.x API, as 2.6.2 and Flotilla both understand them.

A model is a pair of functions: one appends the net to the default programs and returns (loss,
prediction, metrics), the other gives the optimizer. feeds.py says what it eats.
"""

import math

import paddle
import paddle.nn.functional as F
from paddle import nn, static

from resnet import resnet


def mlp():
    x = static.data("x", [None, 1, 28, 28], "float32")
    y = static.data("y", [None, 1], "int64")
    hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), size=128, activation="tanh")
    hidden = static.nn.fc(hidden, size=128, activation="tanh")
    logits = static.nn.fc(hidden, size=10)
    loss = F.cross_entropy(input=logits, label=y)
    return loss, F.softmax(logits), [paddle.metric.accuracy(input=logits, label=y, k=1)]


class LeNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, bias_attr=False),
            nn.BatchNorm2D(16, weight_attr=paddle.ParamAttr(name="bn_scale")),
            nn.ReLU(),
            nn.AvgPool2D(2, 2),
        )
        self.classifier = nn.Sequential(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10))

    def forward(self, x):
        return self.classifier(paddle.flatten(self.features(x), 1))


def lenet():
    x = static.data("x", [None, 1, 28, 28], "float32")
    y = static.data("y", [None, 1], "int64")
    logits = LeNet()(x)
    loss = F.cross_entropy(input=logits, label=y)
    return loss, F.softmax(logits), [paddle.metric.accuracy(input=logits, label=y, k=1)]


class StaticLayers:
    """The layers of resnet.py, in the words of paddle.static.nn."""

    @staticmethod
    def conv(x, filters, size, stride, padding, name):
        weight = paddle.ParamAttr(name=name + "_weights")
        return static.nn.conv2d(
            x, filters, size, stride, padding, param_attr=weight, bias_attr=False
        )

    @staticmethod
    def batch_norm(x, act, name):
        return static.nn.batch_norm(
            x,
            act=act,
            param_attr=paddle.ParamAttr(name=name + "_scale"),
            bias_attr=paddle.ParamAttr(name=name + "_offset"),
            moving_mean_name=name + "_mean",
            moving_variance_name=name + "_variance",
        )

    @staticmethod
    def max_pool(x):
        return F.max_pool2d(x, 3, stride=2, padding=1)

    @staticmethod
    def average(x):
        return F.adaptive_avg_pool2d(x, 1)

    @staticmethod
    def add_relu(x, y):
        return F.relu(paddle.add(x, y))

    @staticmethod
    def fc(x, size, name):
        bound = 1.0 / math.sqrt(x.shape[1])
        uniform = nn.initializer.Uniform(-bound, bound)
        return static.nn.fc(
            x,
            size,
            weight_attr=paddle.ParamAttr(name=name + "_weights", initializer=uniform),
            bias_attr=paddle.ParamAttr(name=name + "_offset"),
        )


def resnet_of(layers, size=64, class_dim=10):
    def build():
        x = static.data("x", [None, 3, size, size], "float32")
        y = static.data("y", [None, 1], "int64")
        out = resnet(StaticLayers, x, layers, class_dim)
        loss = F.cross_entropy(input=out, label=y)
        accuracies = [paddle.metric.accuracy(input=out, label=y, k=k) for k in (1, 5)]
        return loss, F.softmax(out), accuracies

    return build


class WideDeep(nn.Layer):
    """Wide&Deep of the parameter-server quick start; the tables are smaller."""

    def __init__(self, rows=1001, dim=10, slots=26, dense=13, sizes=(64, 32)):
        super().__init__()
        self.dim = dim
        table = paddle.ParamAttr(name="SparseFeatFactors", initializer=nn.initializer.Uniform())
        self.embedding = nn.Embedding(rows, dim, sparse=True, weight_attr=table)
        wide = paddle.ParamAttr(initializer=nn.initializer.TruncatedNormal(0.0, 1 / dense**0.5))
        self.wide = nn.Linear(dense, 1, weight_attr=wide)
        self.deep = []
        widths = [slots * dim + dense, *sizes]
        for i, (before, after) in enumerate(zip(widths, widths[1:])):
            attr = paddle.ParamAttr(initializer=nn.initializer.Normal(std=1 / after**0.5))
            self.deep.append(self.add_sublayer(f"linear_{i}", nn.Linear(before, after, attr)))
            self.deep.append(self.add_sublayer(f"relu_{i}", nn.ReLU()))
        self.top = nn.Linear(sizes[-1], 1)

    def forward(self, ids, dense):
        features = [paddle.reshape(self.embedding(one), [-1, self.dim]) for one in ids]
        hidden = paddle.concat(x=[*features, dense], axis=1)
        for layer in self.deep:
            hidden = layer(hidden)
        return F.sigmoid(paddle.add(x=self.wide(dense), y=self.top(hidden)))


def wide_deep():
    dense = static.data("dense_input", [None, 13], "float32")
    ids = [static.data(f"C{i}", [None, 1], "int64", lod_level=1) for i in range(1, 27)]
    label = static.data("label", [None, 1], "int64")
    chance = WideDeep().forward(ids, dense)
    loss = paddle.mean(x=F.log_loss(input=chance, label=paddle.cast(label, dtype="float32")))
    both = paddle.concat(x=[1 - chance, chance], axis=1)
    auc, _, _ = static.auc(input=both, label=label, num_thresholds=2**8, slide_steps=20)
    return loss, chance, [static.accuracy(input=both, label=label), auc]


def linear_regression():
    x = static.data("x", [None, 13], "float32")
    y = static.data("y", [None, 1], "float32")
    predicted = static.nn.fc(x, size=1)
    return paddle.mean(F.square_error_cost(input=predicted, label=y)), predicted, []


def branches():
    x = static.data("x", [None, 13], "float32")
    y = static.data("y", [None, 1], "float32")
    hidden = static.nn.fc(x, size=8, activation="tanh")
    total = paddle.sum(x)

    def low():
        doubled = hidden * 2.0
        least = static.nn.cond(total < -4.5, lambda: doubled, lambda: doubled * hidden)
        return static.nn.fc(least, size=1), paddle.mean(doubled)

    predicted, mean = static.nn.cond(
        total > 0.0, lambda: (static.nn.fc(hidden, size=1), paddle.max(hidden)), low
    )
    error = F.square_error_cost(input=predicted, label=y)
    return paddle.mean(error + mean), predicted, []


def loops():
    x = static.data("x", [None, 13], "float32")
    y = static.data("y", [None, 1], "float32")
    hidden = static.nn.fc(x, size=8, activation="tanh")
    weight = static.create_parameter([8, 8], "float32", attr=paddle.ParamAttr(name="again"))
    limit = paddle.cast(paddle.abs(paddle.sum(x)), "int64")  # other rounds for other batches
    limit = paddle.reshape(limit, [1])

    def body(i, state, total):
        state = paddle.tanh(paddle.matmul(state, weight) + hidden)
        return i + 1, state, total + paddle.mean(state, axis=0)

    start = [paddle.full([1], 0, "int64"), hidden * 2.0, paddle.mean(hidden, axis=0)]
    _, state, total = static.nn.while_loop(lambda i, *_: i < limit, body, start)
    predicted = static.nn.fc(state, size=1)
    error = F.square_error_cost(input=predicted, label=y)
    return paddle.mean(error) + paddle.mean(total), predicted, []


def momentum():
    decay = paddle.regularizer.L2Decay(1e-4)
    return paddle.optimizer.Momentum(learning_rate=0.0001, momentum=0.9, weight_decay=decay)


def adam():
    return paddle.optimizer.Adam(learning_rate=0.001)


def sgd():
    return paddle.optimizer.SGD(learning_rate=0.01)


MODELS = {
    "mlp": (mlp, adam),
    "lenet": (lenet, adam),
    "resnet18": (resnet_of(18), momentum),
    "resnet50": (resnet_of(50), momentum),
    "wide_deep": (wide_deep, sgd),
    "linear_regression": (linear_regression, sgd),
    "branches": (branches, adam),
    "loops": (loops, sgd),
}
