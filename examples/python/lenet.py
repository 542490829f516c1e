"""Recognises digits with two convolutions and two fully connected layers.

    python lenet.py --steps 20 --init 1
"""

import example
import paddle
import paddle.nn.functional as F
from paddle import static

options = example.parse(steps=20, init=0, batch=16)


def conv_bn_pool(x, filters, size, padding):
    x = static.nn.conv2d(x, filters, size, padding=padding, bias_attr=False)
    x = static.nn.batch_norm(x, act="relu")
    return F.max_pool2d(x, kernel_size=2, stride=2)


x = static.data("x", [None, 1, 28, 28])
y = static.data("y", [None, 1], "int64")
hidden = conv_bn_pool(conv_bn_pool(x, 6, 3, 1), 16, 5, 0)
hidden = static.nn.fc(hidden, 120, activation="relu")
logits = static.nn.fc(hidden, 10)
loss = F.cross_entropy(input=logits, label=y)
paddle.optimizer.Adam(learning_rate=0.001).minimize(loss)

digits = example.Digits(options.batch)
example.train(loss, options.steps, options.init, digits.feeds)
