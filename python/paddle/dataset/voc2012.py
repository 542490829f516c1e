"""Pascal VOC 2012: images, and the class of each of their pixels.

A sample is (uint8 [height, width, 3], uint8 [height, width]); 255 marks the rims of objects. There
is no generated set in its place.
"""

import _flotilla as core
import numpy as np

from . import common
from ._archives import open_archive
from ._sets import SETS

(_file,) = SETS["voc2012"].files
VOC_URL, VOC_MD5 = _file.url, _file.md5
CACHE_DIR = "voc2012"
_FOLDER = "VOCdevkit/VOC2012/"
SET_FILE = _FOLDER + "ImageSets/Segmentation/{}.txt"
DATA_FILE = _FOLDER + "JPEGImages/{}.jpg"
LABEL_FILE = _FOLDER + "SegmentationClass/{}.png"


def _class_of_color():
    """The class for each colour 0xRRGGBB: bit 3 i + c of a class is bit 7 - i of channel c."""
    classes = np.zeros(1 << 24, np.uint8)
    for number in range(256):
        red, green, blue = (
            sum((number >> (3 * i + channel) & 1) << (7 - i) for i in range(3 - channel // 2))
            for channel in range(3)
        )
        classes[red << 16 | green << 8 | blue] = number
    return classes


def reader_creator(filename, sub_name):
    """A reader of the images that a list in the archive names."""

    def reader():
        classes = _class_of_color()
        with open_archive(filename) as archive:

            def content(path):
                return archive.extractfile(path).read()

            for name in content(SET_FILE.format(sub_name)).decode().split():
                colors = core.decode_image(content(LABEL_FILE.format(name)), name, "rgb")
                red, green, blue = np.moveaxis(np.asarray(colors).astype(np.int32), -1, 0)
                image = core.decode_image(content(DATA_FILE.format(name)), name, "rgb")
                yield np.asarray(image), classes[red << 16 | green << 8 | blue]

    return reader


def _images(sub_name):
    return reader_creator(common.download(VOC_URL, CACHE_DIR, VOC_MD5), sub_name)


def train():
    """The reader of the images to train and validate with, as in Paddle."""
    return _images("trainval")


def test():
    """The reader of the images to train with, as in Paddle."""
    return _images("train")


def val():
    """The reader of the images to validate with."""
    return _images("val")


def fetch():
    """Bring the archive into the cache."""
    common.download(VOC_URL, CACHE_DIR, VOC_MD5)
