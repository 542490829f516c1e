"""The small net of the golden files: convolution, batch norm, pooling, two full layers, Adam."""


def build_26():
    import paddle
    import paddle.nn.functional as F
    from paddle import static

    x = static.data("x", [None, 2, 6, 6], "float32")
    y = static.data("y", [None, 1], "int64")
    hidden = static.nn.conv2d(x, num_filters=4, filter_size=3, padding=1)
    hidden = static.nn.batch_norm(hidden, act="relu")
    hidden = F.max_pool2d(hidden, 2, stride=2)
    hidden = static.nn.fc(hidden, size=8, activation="tanh")
    prediction = F.softmax(static.nn.fc(hidden, size=3))
    loss = paddle.mean(F.cross_entropy(prediction, y, use_softmax=False))
    return loss, prediction, []


def build_18():
    import paddle.fluid as fluid

    x = fluid.data("x", [None, 2, 6, 6], "float32")
    y = fluid.data("y", [None, 1], "int64")
    hidden = fluid.layers.conv2d(x, num_filters=4, filter_size=3, padding=1)
    hidden = fluid.layers.batch_norm(hidden, act="relu")
    hidden = fluid.layers.pool2d(hidden, pool_size=2, pool_stride=2)
    hidden = fluid.layers.fc(hidden, size=8, act="tanh")
    prediction = fluid.layers.fc(hidden, size=3, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, y))
    return loss, prediction, []


def adam_26():
    import paddle

    return paddle.optimizer.Adam(learning_rate=0.01)


def adam_18():
    import paddle.fluid as fluid

    return fluid.optimizer.Adam(learning_rate=0.01)


MODEL_26 = (build_26, adam_26)
MODEL_18 = (build_18, adam_18)
