"""VGG."""

from paddle import nn

from ._common import flat, refuse_pretrained

# The convolutions of each of the five stages; their width doubles from 64 up to 512.
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(nn.Layer):
    """``features`` and three linear layers."""

    def __init__(self, features, num_classes=1000, with_pool=True):
        super().__init__()
        self.features = features
        self.num_classes = num_classes
        self.with_pool = with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x):
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(flat(x)) if self.num_classes > 0 else x


def _features(stages, batch_norm):
    layers, inputs = [], 3
    for stage, count in enumerate(stages):
        outputs = min(512, 64 << stage)
        for _ in range(count):
            layers.append(nn.Conv2D(inputs, outputs, 3, padding=1))
            layers += [nn.BatchNorm2D(outputs)] if batch_norm else []
            layers.append(nn.ReLU())
            inputs = outputs
        layers.append(nn.MaxPool2D(kernel_size=2, stride=2))
    return nn.Sequential(*layers)


def _maker(depth):
    def make(pretrained=False, batch_norm=False, **kwargs):
        refuse_pretrained(pretrained, make.__name__)
        return VGG(_features(_STAGES[depth], batch_norm), **kwargs)

    make.__name__ = make.__qualname__ = f"vgg{depth}"
    make.__doc__ = f"VGG with {depth} layers, with random weights."
    return make


vgg11, vgg13, vgg16, vgg19 = (_maker(depth) for depth in (11, 13, 16, 19))
