"""Images and what is done to them: recorded from real Paddle with PIL and OpenCV, then compared.

Nothing here imports Paddle: ``run`` is given the modules. The images have soft shades, noise, flat
colors and hard edges; a case is (kind, image, what, arguments, seed).
"""

import random

import numpy as np


def images():
    """Name to array."""
    r = np.random.RandomState(7)
    y, x = np.mgrid[0:19, 0:26].astype(np.float64)
    soft = np.stack([x * 9, y * 12, 255 - x * 4 - y * 5], axis=2)
    soft += r.normal(0, 25, soft.shape)
    soft[3:9, 4:12] = [250, 10, 40]
    soft[12:15, 18:24] = 128
    color = soft.clip(0, 255).astype(np.uint8)
    even = r.randint(0, 256, (16, 24, 3)).astype(np.uint8)
    grey = color[:, :, 1].copy()
    return {
        "color": color,
        "even": even,
        "grey": grey,
        "column": grey[:, :, None],
        "float": (color / np.float32(255)).astype(np.float32),
    }


SIZES = [(8, 11), (23, 37), (19, 13), (40, 7), 12]


def functions():
    for name in ("nearest", "bilinear", "bicubic", "lanczos", "area", "box", "hamming"):
        for size in SIZES:
            if name in ("box", "hamming"):
                kinds = ("pil",)
            else:
                kinds = ("cv2",) if name == "area" else ("pil", "cv2")
            for kind in kinds:
                yield kind, "color", "resize", (size, name)
        if name in ("nearest", "bilinear"):
            yield "cv2", "column", "resize", ((9, 30), name)
    for kind in ("pil", "cv2"):
        for name in ("grey", "even"):
            yield kind, name, "resize", ((8, 12), "bilinear")
        yield kind, "color", "hflip", ()
        yield kind, "color", "vflip", ()
        yield kind, "color", "crop", (2, 3, 10, 12)
        yield kind, "color", "center_crop", ((7, 10),)
        yield kind, "color", "center_crop", (8,)
        for mode in ("constant", "edge", "reflect", "symmetric"):
            yield kind, "color", "pad", ((1, 2, 3, 4), 77, mode)
            yield kind, "grey", "pad", ((2, 3), 9, mode)
        yield kind, "color", "pad", (3, (1, 2, 3))
        for factor in (0, 0.4, 1, 1.7):
            for what in ("brightness", "contrast", "saturation"):
                yield kind, "color", f"adjust_{what}", (factor,)
        for factor in (-0.5, -0.11, 0, 0.3):
            yield kind, "color", "adjust_hue", (factor,)
        yield kind, "color", "to_grayscale", ()
        yield kind, "color", "to_grayscale", (3,)
        yield kind, "color", "to_tensor", ()
        yield kind, "color", "to_tensor", ("HWC",)
        yield kind, "grey", "to_tensor", ()
        yield kind, "color", "normalize", ([127.5, 100, 90.5], [50, 60.5, 70], "HWC")
        yield kind, "color", "erase", (2, 3, 5, 6, 99)
        for how in ("nearest", "bilinear", "bicubic"):
            yield kind, "color", "rotate", (31.5, how)
            yield kind, "color", "rotate", (-75, how, True)
            yield kind, "color", "rotate", (12, how, False, (5, 7), (9, 8, 7))
            yield kind, "color", "affine", (20, [2, -3], 1.2, [8, 4], how)
            corners = [[0, 0], [25, 0], [25, 18], [0, 18]], [[2, 1], [22, 3], [24, 15], [3, 17]]
            yield kind, "color", "perspective", (*corners, how)
    for angle in (90, 180, 270):
        yield "pil", "color", "rotate", (angle, "nearest", True)
    for name in ("nearest", "bilinear", "bicubic", "lanczos", "area"):
        yield "cv2", "float", "resize", ((9, 40), name)


def objects():
    for kind in ("pil", "cv2"):
        for seed in (1, 2, 3):
            yield kind, "even", "RandomResizedCrop", ((9, 7),), seed
            yield kind, "color", "RandomResizedCrop", ((8, 10), (0.5, 1.0)), seed
            yield kind, "color", "RandomCrop", (9,), seed
            yield kind, "color", "RandomCrop", ((22, 20), 2, True, 5), seed
            yield kind, "color", "RandomHorizontalFlip", (), seed
            yield kind, "color", "RandomVerticalFlip", (0.7,), seed
            yield kind, "color", "ColorJitter", (0.4, 0.4, 0.4, 0.2), seed
            yield kind, "color", "BrightnessTransform", (0.4,), seed
            yield kind, "color", "RandomRotation", (40,), seed
            yield kind, "color", "RandomErasing", (0.9,), seed
            yield kind, "color", "RandomErasing", (0.9, (0.1, 0.3), (0.3, 3.3), (1, 2, 3)), seed
            yield kind, "color", "RandomPerspective", (0.9, 0.4), seed
        yield kind, "color", "RandomAffine", (30, (0.2, 0.1), (0.8, 1.2), (5, 9)), 4
        yield kind, "color", "Resize", (12,), 0
        yield kind, "color", "CenterCrop", (9,), 0
        yield kind, "color", "Transpose", (), 0
        yield kind, "grey", "Transpose", (), 0
        yield kind, "color", "Normalize", (127.5, 127.5, "HWC"), 0
        yield kind, "color", "Normalize", ([1, 2, 3], [4, 5, 6], "HWC", True), 0
        yield kind, "color", "Pad", ((1, 2),), 0
        yield kind, "color", "Grayscale", (3,), 0


def cases():
    """Name to case."""
    found = [(*case, 0) for case in functions()] + list(objects())
    return {f"{i:03}-{case[0]}-{case[2]}": case for i, case in enumerate(found)}


def run(case, transforms, to_pil):
    """The array that a case gives with ``paddle.vision.transforms``."""
    kind, image, what, arguments, seed = case
    random.seed(seed)
    np.random.seed(seed)
    img = images()[image]
    img = to_pil(img) if kind == "pil" else img.copy()
    if what[0].isupper():
        return np.asarray(getattr(transforms, what)(*arguments)(img))
    return np.asarray(getattr(transforms.functional, what)(img, *arguments))


def files(save):
    """Name to bytes of small files; ``save(array, format, **options)`` writes one."""
    color, grey = images()["color"], images()["grey"]
    return {
        "plain.jpg": save(color, "JPEG", quality=90),
        "full.jpg": save(color, "JPEG", quality=95, subsampling=0),
        "progressive.jpg": save(color, "JPEG", quality=85, progressive=True),
        "grey.jpg": save(grey, "JPEG", quality=80),
        "color.png": save(color, "PNG"),
        "grey.png": save(grey, "PNG"),
    }
