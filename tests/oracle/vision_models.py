"""Networks of paddle.vision.models with given weights, for real Paddle and for ours."""

import zlib

import numpy as np

# Name, words, shape of the input.
RUN = [
    ("LeNet", {}, (2, 1, 28, 28)),
    ("resnet18", {"num_classes": 7}, (2, 3, 64, 64)),
    ("resnet50", {"num_classes": 5}, (1, 3, 64, 64)),
    ("resnext50_32x4d", {"num_classes": 0}, (1, 3, 64, 64)),
    ("vgg11", {"num_classes": 0, "with_pool": False}, (1, 3, 64, 64)),
    ("vgg11", {"batch_norm": True, "num_classes": 0}, (1, 3, 64, 64)),
    ("mobilenet_v1", {"scale": 0.25, "num_classes": 6}, (2, 3, 64, 64)),
    ("mobilenet_v2", {"scale": 0.25, "num_classes": 6}, (2, 3, 64, 64)),
    ("mobilenet_v2", {"num_classes": 0}, (1, 3, 64, 64)),
]
NAMED = [
    *("LeNet", "resnet18", "resnet34", "resnet50", "wide_resnet50_2", "resnext50_32x4d"),
    *("vgg11", "vgg16", "mobilenet_v1", "mobilenet_v2"),
]


def title(name, words):
    return "-".join([name, *(f"{key}={value}" for key, value in words.items())])


def value(path, shape):
    """What a parameter or buffer holds: the same everywhere, and of a size that keeps numbers
    bounded from layer to layer."""
    random = np.random.RandomState(zlib.crc32(path.encode()))
    numbers = random.uniform(-1, 1, shape).astype(np.float32)
    if path.endswith("_variance"):
        return numbers * np.float32(0.3) + 1
    if len(shape) > 1:
        inputs = shape[0] if len(shape) == 2 else np.prod(shape[1:])
        return numbers * np.float32(np.sqrt(6.0 / inputs))
    weight = path.endswith("weight")
    return numbers * np.float32(0.1) + np.float32(1 if weight else 0)


def feed(shape):
    return np.random.RandomState(3).uniform(-1, 1, shape).astype(np.float32)


def digest(shapes):
    """One number for the names and shapes of all parameters and buffers."""
    text = "\n".join(f"{path} {list(shapes[path])}" for path in sorted(shapes))
    return zlib.crc32(text.encode())
