"""Fits house prices with a line: 13 features, one output, squared error, SGD.

    python linear_regression.py --steps 20 --init 1
"""

import example
import paddle
import paddle.nn.functional as F
from paddle import static

options = example.parse(steps=20, init=0)

x = static.data("x", [None, 13])
y = static.data("y", [None, 1])
predicted = static.nn.fc(x, 1)
loss = paddle.mean(F.square_error_cost(predicted, y))
paddle.optimizer.SGD(learning_rate=0.01).minimize(loss)


def batch(step):
    return {
        "x": example.uniform(f"x/{step}", [20, 13], -1, 1),
        "y": example.uniform(f"y/{step}", [20, 1], 5, 50),
    }


example.train(loss, options.steps, options.init, batch)
