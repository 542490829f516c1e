"""Well-known networks, with random weights and Paddle's names of parameters."""

from .lenet import LeNet
from .mobilenet import MobileNetV1, MobileNetV2, mobilenet_v1, mobilenet_v2
from .resnet import (
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    resnext50_64x4d,
    resnext101_32x4d,
    resnext101_64x4d,
    resnext152_32x4d,
    resnext152_64x4d,
    wide_resnet50_2,
    wide_resnet101_2,
)
from .vgg import VGG, vgg11, vgg13, vgg16, vgg19

__all__ = [
    "VGG",
    "LeNet",
    "MobileNetV1",
    "MobileNetV2",
    "ResNet",
    "mobilenet_v1",
    "mobilenet_v2",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "vgg11",
    "vgg13",
    "vgg16",
    "vgg19",
    "wide_resnet101_2",
    "wide_resnet50_2",
]
