"""Data sets of images."""

from .cifar import Cifar10, Cifar100
from .flowers import Flowers
from .folder import DatasetFolder, ImageFolder
from .mnist import MNIST, FashionMNIST

__all__ = [
    "MNIST",
    "Cifar10",
    "Cifar100",
    "DatasetFolder",
    "FashionMNIST",
    "Flowers",
    "ImageFolder",
]
