"""Wide & Deep: what the parameter-server quick start imports. Its table is smaller."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

ROWS, WIDTH, SLOTS, DENSE = 100001, 10, 26, 13


class WideDeepLayer(nn.Layer):
    def __init__(self, sizes=(64, 32)):
        super().__init__()
        initializer = nn.initializer
        table = paddle.ParamAttr(
            name="SparseFeatFactors", initializer=initializer.Uniform(-0.05, 0.05)
        )
        self.embedding = nn.Embedding(ROWS, WIDTH, sparse=True, weight_attr=table)
        wide = paddle.ParamAttr(initializer=initializer.TruncatedNormal(0.0, 1 / DENSE**0.5))
        self.wide = nn.Linear(DENSE, 1, weight_attr=wide)
        widths = [SLOTS * WIDTH + DENSE, *sizes, 1]
        self.deep = []
        for i, (before, after) in enumerate(zip(widths, widths[1:])):
            attr = paddle.ParamAttr(initializer=initializer.Normal(std=1 / after**0.5))
            self.deep.append(self.add_sublayer(f"linear_{i}", nn.Linear(before, after, attr)))

    def forward(self, ids, dense):
        rows = [paddle.reshape(self.embedding(one), [-1, WIDTH]) for one in ids]
        hidden = paddle.concat(x=[*rows, dense], axis=1)
        for linear in self.deep[:-1]:
            hidden = F.relu(linear(hidden))
        return F.sigmoid(paddle.add(x=self.wide(dense), y=self.deep[-1](hidden)))


class WideDeepModel:
    def net(self, is_train=True):
        dense = paddle.static.data("dense_input", [None, DENSE], "float32")
        ids = [
            paddle.static.data(f"C{i}", [None, 1], "int64", lod_level=1)
            for i in range(1, SLOTS + 1)
        ]
        label = paddle.static.data("label", [None, 1], "int64")
        self.inputs = [dense, *ids, label]
        if is_train:
            self.loader = paddle.io.DataLoader.from_generator(
                feed_list=self.inputs, capacity=64, iterable=False
            )
        self.chance = WideDeepLayer().forward(ids, dense)
        target = paddle.cast(label, dtype="float32")
        self.loss = self.cost = paddle.mean(x=F.log_loss(input=self.chance, label=target))
