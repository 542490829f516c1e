"""Recognises digits with two hidden layers of 128, as in Paddle's Fleet quick start.

    python mlp.py --steps 20 --init 1
"""

import example
import paddle
from paddle import fluid, static

options = example.parse(steps=20, init=0, batch=64)

x = static.data("x", [None, 1, 28, 28])
y = static.data("y", [None, 1], "int64")
hidden = static.nn.fc(paddle.reshape(x, [-1, 784]), 128, activation="tanh")
hidden = static.nn.fc(hidden, 128, activation="tanh")
prediction = static.nn.fc(hidden, 10, activation="softmax")
loss = paddle.mean(fluid.layers.cross_entropy(prediction, y))
paddle.optimizer.Adam(learning_rate=0.001).minimize(loss)

digits = example.Digits(options.batch)
example.train(loss, options.steps, options.init, digits.feeds)
