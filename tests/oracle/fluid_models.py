"""Models in the words of `paddle.fluid`, as 1.8.5 and Flotilla both understand them."""

import paddle.fluid as fluid

from resnet import resnet


def mlp():
    x = fluid.data("x", [None, 1, 28, 28], "float32")
    y = fluid.data("y", [None, 1], "int64")
    hidden = fluid.layers.fc(fluid.layers.reshape(x, [-1, 784]), size=128, act="tanh")
    hidden = fluid.layers.fc(hidden, size=128, act="tanh")
    prediction = fluid.layers.fc(input=[hidden], size=10, act="softmax")
    cost = fluid.layers.cross_entropy(input=prediction, label=y)
    accuracy = fluid.layers.accuracy(input=prediction, label=y, k=1)
    return fluid.layers.mean(x=cost), prediction, [accuracy]


def linear_regression():
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    predicted = fluid.layers.fc(input=x, size=1, act=None)
    loss = fluid.layers.square_error_cost(input=predicted, label=y)
    return fluid.layers.mean(loss), predicted, []


class FluidLayers:
    """The layers of resnet.py, in the words of fluid.layers."""

    @staticmethod
    def conv(x, filters, size, stride, padding, name):
        return fluid.layers.conv2d(
            input=x,
            num_filters=filters,
            filter_size=size,
            stride=stride,
            padding=padding,
            groups=1,
            act=None,
            param_attr=fluid.ParamAttr(name=name + "_weights"),
            bias_attr=False,
            name=name + ".conv2d.output.1",
        )

    @staticmethod
    def batch_norm(x, act, name):
        return fluid.layers.batch_norm(
            input=x,
            act=act,
            name=name + ".output.1",
            param_attr=fluid.ParamAttr(name=name + "_scale"),
            bias_attr=fluid.ParamAttr(name + "_offset"),
            moving_mean_name=name + "_mean",
            moving_variance_name=name + "_variance",
        )

    @staticmethod
    def max_pool(x):
        return fluid.layers.pool2d(
            input=x, pool_size=3, pool_stride=2, pool_padding=1, pool_type="max"
        )

    @staticmethod
    def average(x):
        return fluid.layers.pool2d(input=x, pool_type="avg", global_pooling=True)

    @staticmethod
    def add_relu(x, y):
        return fluid.layers.elementwise_add(x=x, y=y, act="relu")

    @staticmethod
    def fc(x, size, name):
        bound = 1.0 / (x.shape[1] ** 0.5)
        uniform = fluid.initializer.Uniform(-bound, bound)
        return fluid.layers.fc(
            input=x,
            size=size,
            param_attr=fluid.param_attr.ParamAttr(name=name + "_weights", initializer=uniform),
            bias_attr=fluid.param_attr.ParamAttr(name=name + "_offset"),
        )


def resnet18():
    x = fluid.data("x", [None, 3, 64, 64], "float32")
    y = fluid.data("y", [None, 1], "int64")
    out = resnet(FluidLayers, x, 18, class_dim=10)
    loss = fluid.layers.softmax_with_cross_entropy(out, y)
    softmax = fluid.layers.softmax(out)
    accuracy = fluid.layers.accuracy(input=softmax, label=y, k=5)
    return fluid.layers.reduce_mean(loss), softmax, [accuracy]


def wide_deep():
    dense = fluid.layers.data(name="dense_input", shape=[13], dtype="float32")
    ids = [
        fluid.layers.data(name=f"C{i}", shape=[1], lod_level=1, dtype="int64") for i in range(1, 5)
    ]
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    table = fluid.ParamAttr(name="SparseFeatFactors", initializer=fluid.initializer.Uniform())
    features = [
        fluid.layers.embedding(input=one, is_sparse=True, size=[101, 8], param_attr=table)
        for one in ids
    ]
    hidden = fluid.layers.concat(features + [dense], axis=1)
    for size in (32, 16):
        hidden = fluid.layers.fc(input=hidden, size=size, act="relu")
    prediction = fluid.layers.fc(input=hidden, size=2, act="softmax")
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    auc, _, _ = fluid.layers.auc(input=prediction, label=label, num_thresholds=2**8, slide_steps=20)
    return fluid.layers.reduce_mean(cost), prediction, [auc]


def branches():
    x = fluid.data("x", [None, 13], "float32")
    y = fluid.data("y", [None, 1], "float32")
    hidden = fluid.layers.fc(x, size=8, act="tanh")
    total = fluid.layers.reduce_sum(x)
    zero = fluid.layers.fill_constant([1], "float32", 0.0)
    less = fluid.layers.fill_constant([1], "float32", -4.5)
    predicted = fluid.layers.case(
        [
            (fluid.layers.less_than(zero, total), lambda: fluid.layers.fc(hidden, size=1)),
            (fluid.layers.less_than(total, less), lambda: fluid.layers.fc(hidden * 2.0, size=1)),
        ],
        lambda: fluid.layers.fc(hidden * hidden, size=1),
    )
    loss = fluid.layers.mean(fluid.layers.square_error_cost(predicted, y))
    return loss, predicted, []


def momentum():
    decay = fluid.regularizer.L2Decay(1e-4)
    return fluid.optimizer.Momentum(learning_rate=0.0001, momentum=0.9, regularization=decay)


MODELS = {
    "fluid_mlp": (mlp, lambda: fluid.optimizer.Adam(learning_rate=0.001)),
    "fluid_linear_regression": (linear_regression, lambda: fluid.optimizer.SGD(0.01)),
    "fluid_branches": (branches, lambda: fluid.optimizer.SGD(0.01)),
    "fluid_resnet18": (resnet18, momentum),
    "fluid_wide_deep": (wide_deep, lambda: fluid.optimizer.Adagrad(0.02)),
}
