"""Writes tests/oracle/recorded/images_2.6.2.npz: what real Paddle, PIL and OpenCV make of images.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_images.py

The environment needs Pillow and opencv-python-headless, which setup.sh installs.
"""

import io
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import images  # noqa: E402
import numpy as np  # noqa: E402
from paddle.vision import transforms  # noqa: E402
from PIL import Image  # noqa: E402


def save(array, kind, **options):
    stream = io.BytesIO()
    Image.fromarray(array).save(stream, kind, **options)
    return stream.getvalue()


def extra_files():
    """Kinds that only PIL writes."""
    color = Image.fromarray(images.images()["color"])
    kinds = {}
    for name, image, options in (
        ("inks.jpg", color.convert("CMYK"), {}),
        ("palette.png", color.quantize(16), {}),
        ("alpha.png", color.convert("RGBA"), {}),
        ("bits.png", color.convert("1"), {}),
    ):
        stream = io.BytesIO()
        image.save(stream, {"jpg": "JPEG", "png": "PNG"}[name[-3:]], **options)
        kinds[name] = stream.getvalue()
    exif = Image.Exif()
    for turn in range(2, 9):
        exif[0x0112] = turn
        stream = io.BytesIO()
        color.save(stream, "JPEG", quality=90, exif=exif)
        kinds[f"turn{turn}.jpg"] = stream.getvalue()
    return kinds


def main():
    import cv2

    found, refused = {}, []
    for name, case in images.cases().items():
        try:
            found[name] = images.run(case, transforms, Image.fromarray)
        except Exception as error:  # what real Paddle cannot do is not recorded
            refused.append(f"{name}: {type(error).__name__}: {error}")
    for name, data in {**images.files(save), **extra_files()}.items():
        found[f"file-{name}"] = np.frombuffer(data, np.uint8)
        found[f"rgb-{name}"] = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        found[f"bgr-{name}"] = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    np.savez_compressed(TESTS / "recorded" / "images_2.6.2.npz", **found)
    print(f"{len(found)} arrays; refused by Paddle itself:", *refused, sep="\n  ")


if __name__ == "__main__":
    main()
