"""Wide & Deep on click logs: 13 dense features, 26 sparse ones in a shared table.

    python wide_deep.py --steps 20 --init 1
"""

import example
import paddle
import paddle.nn.functional as F
from paddle import ParamAttr, static
from paddle.nn import initializer

options = example.parse(steps=20, init=0, batch=32, rows=1000001)
WIDTH = 10

dense = static.data("dense_input", [None, 13])
label = static.data("label", [None, 1], "int64")
features = []
for slot in range(1, 27):
    ids = static.data(f"C{slot}", [None, 1], "int64", lod_level=1)
    table = ParamAttr(name="SparseFeatFactors", initializer=initializer.Uniform())
    row = static.nn.embedding(ids, [options.rows, WIDTH], is_sparse=True, param_attr=table)
    features.append(paddle.reshape(row, [-1, WIDTH]))
features.append(dense)

deep = paddle.concat(features, axis=1)
for _ in range(3):
    weight = ParamAttr(initializer=initializer.Normal(std=1 / 400**0.5))
    deep = static.nn.fc(deep, 400, weight_attr=weight, activation="relu")
wide = ParamAttr(initializer=initializer.TruncatedNormal(std=1 / 13**0.5))
wide = static.nn.fc(dense, 1, weight_attr=wide)
chance = F.sigmoid(paddle.add(wide, static.nn.fc(deep, 1)))
loss = paddle.mean(F.log_loss(chance, paddle.cast(label, "float32")))

both = paddle.concat([1 - chance, chance], axis=1)
static.auc(both, label, num_thresholds=2**12, slide_steps=20)
paddle.optimizer.SGD(learning_rate=0.0001).minimize(loss)


def batch(step):
    feeds = {
        "dense_input": example.uniform(f"dense/{step}", [options.batch, 13], 0, 1),
        "label": example.integers(f"label/{step}", [options.batch, 1], 0, 2),
    }
    for slot in range(1, 27):
        ids = example.integers(f"C{slot}/{step}", [options.batch, 1], 0, options.rows)
        feeds[f"C{slot}"] = ids
    return feeds


example.train(loss, options.steps, options.init, batch)
