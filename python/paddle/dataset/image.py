"""Pictures as arrays [height, width, channels] of uint8, colours in the order blue, green, red."""

import os
import pickle

import _flotilla as core
import numpy as np

from ._archives import open_archive


def load_image_bytes(bytes, is_color=True):
    """Decode a JPEG or PNG."""
    return _swapped(core.decode_image(bytes, "an image", "rgb" if is_color else "grey"))


def load_image(file, is_color=True):
    """Read a JPEG or PNG file."""
    return _swapped(core.read_image(os.fspath(file), "rgb" if is_color else "grey"))


def _swapped(image):
    if image.ndim == 3 and image.shape[2] == 1:
        return image[:, :, 0]
    return np.ascontiguousarray(image[:, :, ::-1]) if image.ndim == 3 else image


def resize_short(im, size):
    """Resize so that the shorter side has ``size`` pixels; cubic, as OpenCV does it."""
    height, width = im.shape[:2]
    if height > width:
        height, width = size * height // width, size
    else:
        height, width = size, size * width // height
    return core.resize_image(np.ascontiguousarray(im), height, width, "bicubic", "cv2")


def to_chw(im, order=(2, 0, 1)):
    """The same picture as [channels, height, width]."""
    return im.transpose(order)


def _cropped(im, top, left, size):
    height, width = im.shape[:2]
    if top < 0 or left < 0:
        raise ValueError(f"a crop of {size} x {size} does not fit into {height} x {width} pixels")
    return im[top : top + size, left : left + size]


def center_crop(im, size, is_color=True):
    """The middle ``size`` x ``size`` pixels."""
    height, width = im.shape[:2]
    return _cropped(im, (height - size) // 2, (width - size) // 2, size)


def random_crop(im, size, is_color=True):
    """``size`` x ``size`` pixels at a random place, drawn from numpy's global generator."""
    height, width = im.shape[:2]
    _cropped(im, height - size, width - size, size)  # refuses what is too small
    top = np.random.randint(0, height - size + 1)
    left = np.random.randint(0, width - size + 1)
    return _cropped(im, top, left, size)


def left_right_flip(im, is_color=True):
    """The mirror image."""
    return im[:, ::-1]


def simple_transform(im, resize_size, crop_size, is_train, is_color=True, mean=None):
    """Planes of float32, less ``mean``: resized, cropped, and to train with flipped by chance."""
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        if np.random.randint(2) == 0:
            im = left_right_flip(im, is_color)
    else:
        im = center_crop(im, crop_size, is_color)
    if im.ndim == 3:
        im = to_chw(im)
    im = im.astype("float32")
    if mean is not None:
        mean = np.asarray(mean, dtype=np.float32)
        im -= mean[:, np.newaxis, np.newaxis] if mean.ndim == 1 and is_color else mean
    return im


def load_and_transform(filename, resize_size, crop_size, is_train, is_color=True, mean=None):
    """Read a file and transform it."""
    im = load_image(filename, is_color)
    return simple_transform(im, resize_size, crop_size, is_train, is_color, mean)


def batch_images_from_tar(data_file, dataset_name, img2label, num_per_batch=1024):
    """Pack pictures of an archive and their labels into files; returns the file that lists them."""
    folder = f"{data_file}_batch/{dataset_name}_{num_per_batch}_{os.getpid()}"
    listing = f"{folder}/batch_names.txt"
    os.makedirs(folder, exist_ok=True)
    names, pictures, labels = [], [], []

    def write():
        names.append(f"{folder}/batch_{len(names)}")
        with open(names[-1], "wb") as file:
            pickle.dump({"data": pictures[:], "label": labels[:]}, file, protocol=2)
        pictures.clear()
        labels.clear()

    with open_archive(data_file) as archive:
        for member in archive:
            if member.name in img2label:
                pictures.append(archive.extractfile(member).read())
                labels.append(img2label[member.name])
                if len(pictures) == num_per_batch:
                    write()
    if pictures:
        write()
    with open(listing, "w") as file:
        file.writelines(os.path.abspath(name) + "\n" for name in names)
    return listing
