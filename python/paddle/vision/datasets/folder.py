"""Images in folders: DatasetFolder and ImageFolder."""

import os

import numpy as np

from paddle._files import open_file
from paddle.io._arrays import Field, FileField
from paddle.io.dataset import Dataset

from .._chain import chain_of
from ..image import from_array, get_image_backend, open_pil, read_rgb

IMG_EXTENSIONS = (
    ".jpg",
    ".jpeg",
    ".png",
    ".ppm",
    ".bmp",
    ".pgm",
    ".tif",
    ".tiff",
    ".webp",
)
_DECODED = (".jpg", ".jpeg", ".png")  # in C++


def has_valid_extension(filename, extensions):
    """Whether a name ends in one of ``extensions``, in small or capital letters."""
    assert isinstance(extensions, (list, tuple)), "`extensions` must be list or tuple."
    return filename.lower().endswith(tuple(one.lower() for one in extensions))


def pil_loader(path):
    """The image of a file, as PIL has it, in red, green and blue."""
    with open_file(path) as file:
        return open_pil(file).convert("RGB")


def cv2_loader(path):
    """Red, green and blue of a file, uint8 [height, width, 3]."""
    return read_rgb(path)


def default_loader(path):
    """By the image backend."""
    return cv2_loader(path) if get_image_backend() == "cv2" else pil_loader(path)


def _files_under(folder, extensions, is_valid_file):
    """All files that count, folder by folder, in the order of their names."""
    for root, _, names in sorted(os.walk(os.path.expanduser(folder), followlinks=True)):
        for name in sorted(names):
            path = os.path.join(root, name)
            if is_valid_file(path) if extensions is None else has_valid_extension(path, extensions):
                yield path


def make_dataset(dir, class_to_idx, extensions, is_valid_file=None):
    """(path, class) of all files in the folders of the classes."""
    found = []
    for name in sorted(class_to_idx):
        folder = os.path.join(os.path.expanduser(dir), name)
        if os.path.isdir(folder):
            files = _files_under(folder, extensions, is_valid_file)
            found += [(path, class_to_idx[name]) for path in files]
    return found


class _Folder(Dataset):
    def _loaded(self, path):
        sample = self.loader(path)
        return sample if self.transform is None else self.transform(sample)

    def _file_field(self, paths):
        """The images as a field that C++ reads, or None where it cannot."""
        backend = get_image_backend()
        if self.loader is not default_loader or backend == "tensor":
            return None
        if not all(path.lower().endswith(_DECODED) for path in paths):
            return None
        make = from_array if backend == "pil" else (lambda ramp: ramp)
        upright = backend == "cv2"
        found = chain_of(self.transform, backend, (0, 0, 3), make, upright=upright)
        return None if found is None else FileField(paths, *found, upright=upright)


class DatasetFolder(_Folder):
    """``root/<class>/.../<file>``: ``dataset[i]`` is what ``loader(path)`` gives, transformed, and
    the number of its class. Classes are the names of the folders, in their order."""

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        self.transform = transform
        if extensions is None and is_valid_file is None:
            extensions = IMG_EXTENSIONS
        self.classes, self.class_to_idx = self._find_classes(os.path.expanduser(root))
        self.samples = make_dataset(root, self.class_to_idx, extensions, is_valid_file)
        if not self.samples:
            raise RuntimeError(
                f"Found 0 directories in subfolders of: {root}\nSupported extensions are: "
                + ",".join(extensions or ())
            )
        self.loader = default_loader if loader is None else loader
        self.extensions = extensions
        self.targets = [target for _, target in self.samples]
        self.dtype = "float32"

    def _find_classes(self, dir):
        classes = sorted(one.name for one in os.scandir(dir) if one.is_dir())
        return classes, {name: number for number, name in enumerate(classes)}

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self._loaded(path), target

    def __len__(self):
        return len(self.samples)

    def _flt_arrays(self):
        field = self._file_field([path for path, _ in self.samples])
        return None if field is None else [field, Field(np.array(self.targets, np.int64))]


class ImageFolder(_Folder):
    """All images under a folder: ``dataset[i]`` is a list of what ``loader(path)`` gives."""

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        if extensions is None and is_valid_file is None:
            extensions = IMG_EXTENSIONS
        self.samples = list(_files_under(root, extensions, is_valid_file))
        if not self.samples:
            raise RuntimeError(
                f"Found 0 files in subfolders of: {root}\nSupported extensions are: "
                + ",".join(extensions or ())
            )
        self.loader = default_loader if loader is None else loader
        self.extensions = extensions
        self.transform = transform

    def __getitem__(self, index):
        return [self._loaded(self.samples[index])]

    def __len__(self):
        return len(self.samples)

    def _flt_arrays(self):
        field = self._file_field(self.samples)
        return None if field is None else [field]
