"""ResNet, ResNeXt and wide ResNet."""

from paddle import nn

from ._common import flat, refuse_pretrained


def _conv(inputs, outputs, kernel, stride=1, groups=1, dilation=1):
    return nn.Conv2D(
        inputs,
        outputs,
        kernel,
        stride=stride,
        padding=dilation * (kernel // 2),
        dilation=dilation,
        groups=groups,
        bias_attr=False,
    )


class BasicBlock(nn.Layer):
    """Two convolutions of 3 x 3, and what came in added."""

    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("a BasicBlock has one group of width 64; use BottleneckBlock")
        self.conv1 = _conv(inplanes, planes, 3, stride)
        self.bn1 = nn.BatchNorm2D(planes)
        self.relu = nn.ReLU()
        self.conv2 = _conv(planes, planes, 3)
        self.bn2 = nn.BatchNorm2D(planes)
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class BottleneckBlock(nn.Layer):
    """A convolution of 3 x 3 between two of 1 x 1, and what came in added."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        outputs = planes * self.expansion
        self.conv1 = _conv(inplanes, width, 1)
        self.bn1 = nn.BatchNorm2D(width)
        self.conv2 = _conv(width, width, 3, stride, groups)
        self.bn2 = nn.BatchNorm2D(width)
        self.conv3 = _conv(width, outputs, 1)
        self.bn3 = nn.BatchNorm2D(outputs)
        self.relu = nn.ReLU()
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


_BLOCKS = {
    18: [2, 2, 2, 2],
    34: [3, 4, 6, 3],
    50: [3, 4, 6, 3],
    101: [3, 4, 23, 3],
    152: [3, 8, 36, 3],
}


class ResNet(nn.Layer):
    """``depth`` layers of ``block``, in four stages; ``width`` is that of a group."""

    def __init__(self, block, depth=50, width=64, num_classes=1000, with_pool=True, groups=1):
        super().__init__()
        if depth not in _BLOCKS:
            raise ValueError(f"depth must be one of {sorted(_BLOCKS)}, but is {depth}")
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.groups = groups
        self.base_width = width
        self.inplanes = 64
        self.conv1 = nn.Conv2D(3, 64, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        for stage, count in enumerate(_BLOCKS[depth]):
            layers = self._make_layer(block, 64 << stage, count, 1 if stage == 0 else 2)
            setattr(self, f"layer{stage + 1}", layers)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(self, block, planes, count, stride):
        outputs = planes * block.expansion
        shortcut = None
        if stride != 1 or self.inplanes != outputs:
            shortcut = nn.Sequential(
                _conv(self.inplanes, outputs, 1, stride), nn.BatchNorm2D(outputs)
            )
        layers = [block(self.inplanes, planes, stride, shortcut, self.groups, self.base_width)]
        self.inplanes = outputs
        for _ in range(1, count):
            layers.append(block(outputs, planes, groups=self.groups, base_width=self.base_width))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(flat(x)) if self.num_classes > 0 else x


def _maker(name, depth, width=64, groups=1):
    def make(pretrained=False, **kwargs):
        refuse_pretrained(pretrained, name)
        block = BasicBlock if depth < 50 else BottleneckBlock
        return ResNet(block, depth, **{"width": width, "groups": groups, **kwargs})

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{name}, with random weights."
    return make


resnet18 = _maker("resnet18", 18)
resnet34 = _maker("resnet34", 34)
resnet50 = _maker("resnet50", 50)
resnet101 = _maker("resnet101", 101)
resnet152 = _maker("resnet152", 152)
resnext50_32x4d = _maker("resnext50_32x4d", 50, 4, 32)
resnext50_64x4d = _maker("resnext50_64x4d", 50, 4, 64)
resnext101_32x4d = _maker("resnext101_32x4d", 101, 4, 32)
resnext101_64x4d = _maker("resnext101_64x4d", 101, 4, 64)
resnext152_32x4d = _maker("resnext152_32x4d", 152, 4, 32)
resnext152_64x4d = _maker("resnext152_64x4d", 152, 4, 64)
wide_resnet50_2 = _maker("wide_resnet50_2", 50, 128)
wide_resnet101_2 = _maker("wide_resnet101_2", 101, 128)
