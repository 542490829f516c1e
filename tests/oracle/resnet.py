"""ResNet as the static examples build it: one graph, whichever words the `layers` object uses."""

DEPTHS = {18: [2, 2, 2, 2], 34: [3, 4, 6, 3], 50: [3, 4, 6, 3]}
WIDTHS = [64, 128, 256, 512]


def resnet(layers, x, depth, class_dim):
    x = conv_bn(layers, x, WIDTHS[0], 7, 2, "relu", "conv1")
    x = layers.max_pool(x)
    block = bottleneck if depth >= 50 else basic
    for stage, (count, width) in enumerate(zip(DEPTHS[depth], WIDTHS)):
        for i in range(count):
            name = f"res{stage + 2}{chr(97 + i)}"
            x = block(layers, x, width, 2 if i == 0 and stage > 0 else 1, name)
    x = layers.average(x)
    return layers.fc(x, class_dim, "fc_0")


def conv_bn(layers, x, filters, size, stride, act, name):
    x = layers.conv(x, filters, size, stride, (size - 1) // 2, name)
    bn = "bn_" + name if name == "conv1" else "bn" + name[3:]
    return layers.batch_norm(x, act, bn)


def shortcut(layers, x, filters, stride, name):
    if x.shape[1] == filters and stride == 1:
        return x
    return conv_bn(layers, x, filters, 1, stride, None, name + "_branch1")


def bottleneck(layers, x, width, stride, name):
    y = conv_bn(layers, x, width, 1, 1, "relu", name + "_branch2a")
    y = conv_bn(layers, y, width, 3, stride, "relu", name + "_branch2b")
    y = conv_bn(layers, y, width * 4, 1, 1, None, name + "_branch2c")
    return layers.add_relu(shortcut(layers, x, width * 4, stride, name), y)


def basic(layers, x, width, stride, name):
    y = conv_bn(layers, x, width, 3, stride, "relu", name + "_branch2a")
    y = conv_bn(layers, y, width, 3, 1, None, name + "_branch2b")
    return layers.add_relu(shortcut(layers, x, width, stride, name), y)
