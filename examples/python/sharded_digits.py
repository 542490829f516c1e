"""Recognises digits from one rank's share of the images: one of ``--ranks`` processes, each with
its own part of an order that all of them agree on, and a new order in every epoch.

    python sharded_digits.py --steps 20 --init 1 --rank 0 --ranks 4
"""

import example
import paddle
from paddle import fluid, static
from paddle.io import DataLoader
from paddle.io.shard import ShardedBatchSampler

options = example.parse(steps=20, init=0, batch=64, rank=0, ranks=1)

x = static.data("x", [None, 1, 28, 28])
y = static.data("y", [None, 1], "int64")
hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), 128, activation="tanh")
prediction = static.nn.fc(hidden, 10, activation="softmax")
loss = paddle.mean(fluid.layers.cross_entropy(prediction, y))
paddle.optimizer.Adam(learning_rate=0.001).minimize(loss)

digits = example.DigitSet()
share = ShardedBatchSampler(
    digits,
    options.batch,
    rank=options.rank,
    ranks=options.ranks,
    drop_last=True,
    shuffle=True,
    seed=1,
)
loader = DataLoader(digits, feed_list=[x, y], batch_sampler=share)
batches = (batch for _ in iter(int, 1) for batch in loader)
example.train(loss, options.steps, options.init, lambda step: next(batches))
