"""ResNet of 18, 34 or 50 layers with batch norm, Momentum and L2 decay, as Paddle's examples do.

    python resnet50.py --layers 50 --image 224 --batch 16 --steps 20 --init 1
"""

import example
import paddle
import paddle.nn.functional as F
from paddle import ParamAttr, fluid, static

options = example.parse(steps=20, init=0, layers=50, batch=16, image=224, classes=102)


def conv_bn(x, filters, size, stride, act, name):
    x = fluid.layers.conv2d(
        x,
        filters,
        size,
        stride=stride,
        padding=(size - 1) // 2,
        param_attr=ParamAttr(name=name + "_weights"),
        bias_attr=False,
        name=name + ".conv2d.output.1",
    )
    bn = "bn_" + name if name == "conv1" else "bn" + name[3:]
    return fluid.layers.batch_norm(
        x,
        act=act,
        name=bn + ".output.1",
        param_attr=ParamAttr(name=bn + "_scale"),
        bias_attr=ParamAttr(name=bn + "_offset"),
        moving_mean_name=bn + "_mean",
        moving_variance_name=bn + "_variance",
    )


def shortcut(x, filters, stride, name):
    if x.shape[1] == filters and stride == 1:
        return x
    return conv_bn(x, filters, 1, stride, None, name)


def bottleneck(x, width, stride, name):
    y = conv_bn(x, width, 1, 1, "relu", name + "_branch2a")
    y = conv_bn(y, width, 3, stride, "relu", name + "_branch2b")
    y = conv_bn(y, width * 4, 1, 1, None, name + "_branch2c")
    x = shortcut(x, width * 4, stride, name + "_branch1")
    return fluid.layers.elementwise_add(x, y, act="relu", name=name + ".add.output.5")


def basic(x, width, stride, name):
    y = conv_bn(x, width, 3, stride, "relu", name + "_branch2a")
    y = conv_bn(y, width, 3, 1, None, name + "_branch2b")
    return fluid.layers.elementwise_add(
        shortcut(x, width, stride, name + "_branch1"), y, act="relu"
    )


def resnet(x, layers, classes):
    x = conv_bn(x, 64, 7, 2, "relu", "conv1")
    x = fluid.layers.pool2d(x, pool_size=3, pool_type="max", pool_stride=2, pool_padding=1)
    for stage, count in enumerate([2, 2, 2, 2] if layers == 18 else [3, 4, 6, 3]):
        for i in range(count):
            stride = 2 if i == 0 and stage > 0 else 1
            block = basic if layers < 50 else bottleneck
            x = block(x, 64 << stage, stride, f"res{stage + 2}{chr(97 + i)}")
    x = fluid.layers.pool2d(x, pool_type="avg", global_pooling=True)
    bound = 1 / x.shape[1] ** 0.5
    uniform = paddle.nn.initializer.Uniform(-bound, bound)
    weight = ParamAttr(name="fc_0.w_0", initializer=uniform)
    return static.nn.fc(x, classes, weight_attr=weight, bias_attr=ParamAttr(name="fc_0.b_0"))


side = options.image
image = static.data("image", [None, 3, side, side])
label = static.data("label", [None, 1], "int64")
out = resnet(image, options.layers, options.classes)
loss = F.cross_entropy(input=out, label=label)
static.accuracy(input=out, label=label, k=1)
static.accuracy(input=out, label=label, k=5)
decay = paddle.regularizer.L2Decay(1e-4)
paddle.optimizer.Momentum(learning_rate=0.001, momentum=0.9, weight_decay=decay).minimize(loss)


def batch(step):
    return {
        "image": example.uniform(f"image/{step}", [options.batch, 3, side, side], -1, 1),
        "label": example.integers(f"label/{step}", [options.batch, 1], 0, options.classes),
    }


example.train(loss, options.steps, options.init, batch)
