"""MobileNet, versions 1 and 2."""

from paddle import nn

from ._common import conv_norm, flat, refuse_pretrained


class DepthwiseSeparable(nn.Layer):
    """A convolution of 3 x 3 for each channel, then one of 1 x 1 over all."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self._depthwise_conv = conv_norm(inputs, inputs, 3, stride, groups=inputs)
        self._pointwise_conv = conv_norm(inputs, outputs, 1)

    def forward(self, x):
        return self._pointwise_conv(self._depthwise_conv(x))


# Name, channels in, channels out, stride; at scale 1.
_V1 = (
    ("conv2_1", 32, 64, 1),
    ("conv2_2", 64, 128, 2),
    ("conv3_1", 128, 128, 1),
    ("conv3_2", 128, 256, 2),
    ("conv4_1", 256, 256, 1),
    ("conv4_2", 256, 512, 2),
    *((f"conv5_{i}", 512, 512, 1) for i in range(1, 6)),
    ("conv5_6", 512, 1024, 2),
    ("conv6", 1024, 1024, 1),
)


class MobileNetV1(nn.Layer):
    """``scale`` makes all layers wider or narrower."""

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.conv1 = conv_norm(3, int(32 * scale), 3, stride=2)
        for name, inputs, outputs, stride in _V1:
            layer = DepthwiseSeparable(int(inputs * scale), int(outputs * scale), stride)
            setattr(self, name, layer)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(int(1024 * scale), num_classes)

    def forward(self, x):
        x = self.conv1(x)
        for name, *_ in _V1:
            x = getattr(self, name)(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.fc(flat(x)) if self.num_classes > 0 else x


def _divisible(channels, by=8):
    """The nearest multiple of ``by``, but not less than nine tenths of ``channels``."""
    rounded = max(by, int(channels + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * channels else rounded


class InvertedResidual(nn.Layer):
    """Wide in the middle, narrow at its ends, which are added where they fit."""

    def __init__(self, inputs, outputs, stride, expand_ratio):
        super().__init__()
        hidden = int(round(inputs * expand_ratio))
        self.use_res_connect = stride == 1 and inputs == outputs
        layers = [] if expand_ratio == 1 else [conv_norm(inputs, hidden, 1, activation=nn.ReLU6)]
        self.conv = nn.Sequential(
            *layers,
            conv_norm(hidden, hidden, 3, stride, groups=hidden, activation=nn.ReLU6),
            nn.Conv2D(hidden, outputs, 1, bias_attr=False),
            nn.BatchNorm2D(outputs),
        )

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# Expansion, channels out, blocks, stride of the first of them.
_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Layer):
    """``scale`` makes all layers wider or narrower."""

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        inputs, last = _divisible(32 * scale), _divisible(1280 * max(1.0, scale))
        layers = [conv_norm(3, inputs, 3, stride=2, activation=nn.ReLU6)]
        for expand_ratio, channels, count, first in _V2:
            outputs = _divisible(channels * scale)
            for i in range(count):
                layers.append(InvertedResidual(inputs, outputs, 1 if i else first, expand_ratio))
                inputs = outputs
        layers.append(conv_norm(inputs, last, 1, activation=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, num_classes))

    def forward(self, x):
        x = self.features(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.classifier(flat(x)) if self.num_classes > 0 else x


def mobilenet_v1(pretrained=False, scale=1.0, **kwargs):
    """MobileNetV1, with random weights."""
    refuse_pretrained(pretrained, "mobilenet_v1")
    return MobileNetV1(scale, **kwargs)


def mobilenet_v2(pretrained=False, scale=1.0, **kwargs):
    """MobileNetV2, with random weights."""
    refuse_pretrained(pretrained, "mobilenet_v2")
    return MobileNetV2(scale, **kwargs)
