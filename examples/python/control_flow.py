"""A net whose depth each batch chooses: a loop applies one layer as often as it is told. Large
errors count by their size, small ones squared.

    python control_flow.py --steps 20 --init 1
"""

import example
import paddle
from paddle import static

options = example.parse(steps=20, init=0, batch=32)

x = static.data("x", [None, 8])
y = static.data("y", [None, 1])
depth = static.data("depth", [1], "int64")
first = static.nn.fc(x, 16, activation="tanh")
_, last = static.nn.while_loop(
    lambda i, hidden: i < depth,
    lambda i, hidden: [i + 1, static.nn.fc([hidden, x], 16, activation="tanh")],
    [paddle.full([1], 0, "int64"), first],
)
error = paddle.abs(static.nn.fc(last, 1) - y)
loss = static.nn.cond(
    paddle.mean(error) > 1,
    lambda: paddle.mean(error),
    lambda: paddle.mean(paddle.square(error)),
)
paddle.optimizer.Adam(learning_rate=0.05).minimize(loss)


def batch(step):
    return {
        "x": example.uniform(f"x/{step}", [options.batch, 8], -1, 1),
        "y": example.uniform(f"y/{step}", [options.batch, 1], 1, 2),
        "depth": example.integers(f"depth/{step}", [1], 0, 5),
    }


example.train(loss, options.steps, options.init, batch)
