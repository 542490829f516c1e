"""Decoding and transforms against recordings of real Paddle 2.6.2 with PIL and OpenCV."""

from pathlib import Path

import images
import numpy as np
import pytest

import _flotilla as core
from paddle.vision import transforms
from paddle.vision.image import Image

RECORDED = np.load(Path(__file__).parent / "recorded" / "images_2.6.2.npz")
CASES = images.cases()
FILES = [name.removeprefix("file-") for name in RECORDED.files if name.startswith("file-")]


def most_apart(case):
    """Equal bits, save where OpenCV itself computes with floats or tables of its own."""
    kind, image, _, arguments, _ = case
    if image == "float":
        return 1e-6
    return 1 if kind == "cv2" and {"bicubic", "lanczos"} & {str(one) for one in arguments} else 0


@pytest.mark.parametrize("name", CASES)
def test_transform_gives_what_paddle_gives(name):
    got, want = images.run(CASES[name], transforms, Image), RECORDED[name]
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if "RandomPerspective" in name and len(np.argwhere(apart.max(axis=-1))) <= 1:
        return  # a corner on the border of the image: there Paddle goes by the last bit of LAPACK
    assert apart.max() <= most_apart(CASES[name])


@pytest.mark.parametrize("name", FILES)
def test_file_is_decoded_as_pil_does(name):
    got = core.decode_image(RECORDED[f"file-{name}"].tobytes(), name, "rgb")
    apart = np.abs(got.astype(int) - RECORDED[f"rgb-{name}"].astype(int))
    # Inks: PIL multiplies in another order.
    assert got.shape == RECORDED[f"rgb-{name}"].shape
    assert apart.max() <= (1 if name == "inks.jpg" else 0)


@pytest.mark.parametrize("name", [one for one in FILES if one != "inks.jpg"])
def test_file_is_turned_upright_as_opencv_does(name):
    got = core.decode_image(RECORDED[f"file-{name}"].tobytes(), name, "rgb", upright=True)
    np.testing.assert_array_equal(got[:, :, ::-1], RECORDED[f"bgr-{name}"])
