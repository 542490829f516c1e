"""The nets of spec 003's example: one to train with, one to evaluate; they share parameters."""

import paddle.fluid as fluid


def mlp(image):
    hidden = fluid.layers.fc(image, size=200, act="relu")
    hidden = fluid.layers.fc(hidden, size=200, act="relu")
    return fluid.layers.fc(hidden, size=10)


def inputs():
    image = fluid.data(name="image", shape=[None, 784], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    return image, label


def train_net():
    """(variables to feed, mean loss)"""
    image, label = inputs()
    loss = fluid.layers.softmax_with_cross_entropy(mlp(image), label)
    return [image, label], fluid.layers.reduce_mean(loss)


def test_net():
    """(variables to feed, accuracy of the batch)"""
    image, label = inputs()
    prediction = fluid.layers.softmax(mlp(image))
    return [image, label], fluid.layers.accuracy(input=prediction, label=label)
