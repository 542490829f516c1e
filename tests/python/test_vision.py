"""paddle.vision: images, data sets, and transforms that C++ does for whole batches."""

import gzip
import io
import os
import pickle
import random
import struct
import tarfile

import numpy as np
import pytest

import _flotilla as core
import paddle
from paddle.io._arrays import arrays_of
from paddle.vision import transforms as T
from paddle.vision.datasets import (
    MNIST,
    Cifar10,
    Cifar100,
    DatasetFolder,
    FashionMNIST,
    Flowers,
    ImageFolder,
)
from paddle.vision.image import Image


@pytest.fixture(autouse=True)
def pil_backend():
    yield
    paddle.vision.set_image_backend("pil")


@pytest.fixture
def no_pillow(monkeypatch):
    """As on a machine without Pillow."""
    monkeypatch.setattr("paddle.vision.image.pillow", lambda: None)


def pixels(*shape, seed=0):
    return np.random.RandomState(seed).randint(0, 256, shape).astype(np.uint8)


# ---- files of the data sets, small


def idx_files(folder, count=12):
    images, labels = pixels(count, 28, 28), np.arange(count, dtype=np.uint8) % 10
    paths = str(folder / "images.gz"), str(folder / "labels.gz")
    with gzip.open(paths[0], "wb") as file:
        file.write(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
    with gzip.open(paths[1], "wb") as file:
        file.write(struct.pack(">II", 2049, count) + labels.tobytes())
    return paths, images, labels


def cifar_file(folder, parts, key=b"labels", extra=None):
    path = str(folder / "cifar.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for number, (name, count) in enumerate(parts.items()):
            part = {b"data": pixels(count, 3072, seed=number), key: list(range(count))}
            data = pickle.dumps(extra or part, protocol=2)
            member = tarfile.TarInfo(f"cifar/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def mat_file(path, **matrices):
    """A MATLAB 5 file of rows of bytes or short numbers."""
    data = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x0100, 0x4D49)
    for name, values in matrices.items():
        values = np.asarray(values, np.uint16)

        def element(kind, body):
            return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)

        body = element(6, struct.pack("<II", 11, 0))
        body += element(5, struct.pack("<ii", 1, len(values)))
        body += element(1, name.encode()) + element(4, values.tobytes())
        data += element(14, body)
    path.write_bytes(data)
    return str(path)


def flowers_files(folder, count=9):
    archive = str(folder / "102flowers.tgz")
    with tarfile.open(archive, "w:gz") as tar:
        for i in range(1, count + 1):
            data = core.encode_jpeg(pixels(30 + i, 40 - i, 3, seed=i))
            member = tarfile.TarInfo(f"jpg/image_{i:05d}.jpg")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        evil = tarfile.TarInfo("../evil.jpg")
        evil.size = 1
        tar.addfile(evil, io.BytesIO(b"x"))
    labels = mat_file(folder / "labels.mat", labels=np.arange(count) % 5 + 1)
    sets = mat_file(folder / "setid.mat", trnid=[1, 2], tstid=[4, 9, 5], valid=[3])
    return {"data_file": archive, "label_file": labels, "setid_file": sets}


def image_folder(root, kinds=("jpg", "png", "jpeg")):
    for number, name in enumerate(("cat", "ant", "bee")):
        os.makedirs(root / name / "deep")
        for i in range(3):
            Image(pixels(24 + 3 * i, 33, 3, seed=number * 3 + i)).save(
                str(root / name / "deep" / f"{i}.{kinds[i]}")
            )
    (root / "ant" / "notes.txt").write_text("no image")
    return str(root)


# ---- images


def test_backend_is_chosen_and_checked():
    assert paddle.vision.get_image_backend() == "pil"
    paddle.vision.set_image_backend("cv2")
    assert paddle.vision.get_image_backend() == "cv2"
    with pytest.raises(ValueError, match="Expected backend are one of"):
        paddle.vision.set_image_backend("gif")


def test_image_load_gives_the_kind_that_is_asked_for(tmp_path, no_pillow):
    array, path = pixels(5, 7, 3), str(tmp_path / "a.png")
    Image(array).save(path)
    image = paddle.vision.image_load(path)
    assert (image.size, image.mode) == ((7, 5), "RGB")
    np.testing.assert_array_equal(np.asarray(image), array)
    np.testing.assert_array_equal(paddle.vision.image_load(path, "cv2"), array[:, :, ::-1])
    np.testing.assert_array_equal(
        paddle.vision.image_load(path, "tensor"), array.transpose(2, 0, 1)
    )
    with pytest.raises(FileNotFoundError, match="none.png"):
        paddle.vision.image_load(str(tmp_path / "none.png"), "cv2")


def test_corrupt_file_is_named_with_the_byte(tmp_path, no_pillow):
    data = core.encode_jpeg(pixels(40, 40, 3))
    path = tmp_path / "cut.jpg"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=rf"cut\.jpg: .*cut short: its {len(data) // 2} bytes"):
        paddle.vision.image_load(str(path))
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match="byte 0: expected a JPEG or a PNG, but this is text"):
        paddle.vision.image_load(str(path), "cv2")


def test_light_image_has_the_words_of_pil():
    image = Image(pixels(6, 8, 3))
    assert image.convert("L").mode == "L"
    assert image.convert("RGBA").getpixel((0, 0))[3] == 255
    assert image.convert("L").convert("RGB").getbands() == ("R", "G", "B")
    assert image.resize((4, 3)).size == (4, 3)
    outside = np.asarray(image.crop((-1, -2, 3, 3)))
    assert not outside[:2].any() and not outside[:, 0].any()
    np.testing.assert_array_equal(outside[2:, 1:], np.asarray(image)[:3, :3])
    assert image.transpose(0).transpose(0) == image
    with pytest.raises(TypeError, match="uint8"):
        Image(np.zeros((3, 3)))


# ---- transforms


def test_transform_of_a_tuple_leaves_the_rest_alone():
    image, label = T.CenterCrop(4)((pixels(8, 8, 3), 3))
    assert image.shape == (4, 4, 3) and label == 3
    both = T.RandomHorizontalFlip(1.0, keys=("image",))((pixels(4, 4, 3), "x", "y"))
    assert len(both) == 3
    with pytest.raises(ValueError, match="keys should be a sequence"):
        T.Resize(4, keys=3)
    with pytest.raises(NotImplementedError, match="what is unsupported"):
        T.Resize(4, keys=("what",))


def test_own_transform_sees_params():
    class Move(T.BaseTransform):
        def _get_params(self, inputs):
            return {"by": 2}

        def _apply_image(self, image):
            return image + self.params["by"]

    assert Move()(np.zeros((2, 2))).max() == 2


def test_tensor_images_keep_their_axes():
    image = T.ToTensor()(pixels(6, 8, 3))
    assert image.shape == (3, 6, 8) and image.dtype == np.float32
    for transform, shape in (
        (T.Resize((3, 4)), (3, 3, 4)),
        (T.CenterCrop(4), (3, 4, 4)),
        (T.Pad(1), (3, 8, 10)),
        (T.RandomHorizontalFlip(1.0), (3, 6, 8)),
        (T.RandomErasing(1.0), (3, 6, 8)),
        (T.ColorJitter(0.5, 0.5, 0.5, 0.2), (3, 6, 8)),
        (T.Grayscale(3), (3, 6, 8)),
        (T.Normalize(0.5, 0.5), (3, 6, 8)),
    ):
        out = transform(image)
        assert out.shape == shape and out.dtype == np.float32
    flipped = T.RandomHorizontalFlip(1.0)(image)
    np.testing.assert_array_equal(flipped, image[:, :, ::-1])


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: T.Pad((1, 2, 3)), "Padding must be an int or a 2, or 4 element tuple"),
        (lambda: T.RandomRotation(-3), "it must be positive"),
        (lambda: T.HueTransform((-0.7, 0.2)), "hue values should be between"),
        (lambda: T.BrightnessTransform("x"), "single number"),
        (lambda: T.functional.adjust_hue(pixels(3, 3, 3), 0.7), "is not in"),
        (lambda: T.functional.resize(pixels(3, 3, 3), (4, 4, 4)), "inappropriate size"),
        (lambda: T.functional.resize("x", 4), "img should be PIL Image"),
        (lambda: T.functional.resize(pixels(3, 3, 3), 4, "cubist"), "interpolation must be one"),
        (lambda: T.RandomCrop(9)(pixels(4, 4, 3)), "RandomCrop takes 9 x 9"),
    ],
)
def test_mistakes_are_told_in_a_sentence(make, text):
    with pytest.raises((ValueError, TypeError), match=text):
        make()


# ---- data sets


def test_mnist_items_feed_the_program_of_the_quick_start(tmp_path):
    (image_path, label_path), images, labels = idx_files(tmp_path)
    dataset = MNIST(image_path, label_path, mode="test")
    image, label = dataset[3]
    assert (image.dtype, image.shape) == (np.float32, (1, 28, 28))
    assert (label.dtype, label.shape) == (np.int64, (1,))
    np.testing.assert_allclose(image[0], images[3] / 255.0 * 2 - 1, atol=1e-6)
    assert label[0] == labels[3] and len(dataset) == len(labels)


def test_mnist_items_of_opencvs_kind_are_arrays(tmp_path):
    (image_path, label_path), images, _ = idx_files(tmp_path)
    image, _ = MNIST(image_path, label_path, backend="cv2")[1]
    assert (image.dtype, image.shape) == (np.float32, (28, 28))
    np.testing.assert_array_equal(image, images[1])


def test_mnist_transform_gets_an_image(tmp_path, no_pillow):
    (image_path, label_path), _, _ = idx_files(tmp_path)
    seen = []
    MNIST(image_path, label_path, transform=lambda image: seen.append(image) or 0)[0]
    assert (seen[0].mode, seen[0].size) == ("L", (28, 28))


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_idx_sets_refuse_wrong_words(kind, tmp_path):
    with pytest.raises(AssertionError, match="mode should be"):
        kind(mode="valid")
    with pytest.raises(ValueError, match="Expected backend"):
        kind(backend="tensor")
    with pytest.raises(AssertionError, match="downloading automatically is disabled"):
        kind(download=False)
    (image_path, label_path), _, _ = idx_files(tmp_path)
    with pytest.raises(ValueError, match="expected the number 2051"):
        kind(label_path, image_path)


def test_cifar_items(tmp_path, no_pillow):
    path = cifar_file(tmp_path, {"data_batch_2": 3, "data_batch_1": 4, "test_batch": 5})
    train, test = Cifar10(path), Cifar10(path, mode="test", backend="cv2")
    assert (len(train), len(test)) == (7, 5)
    image, label = train[0]
    assert (image.size, image.mode) == ((32, 32), "RGB")
    assert label.dtype == np.int64 and label.shape == () and label == 0
    planes = pixels(4, 3072, seed=1)[0].reshape(3, 32, 32)
    np.testing.assert_array_equal(np.asarray(image), planes.transpose(1, 2, 0))
    image, _ = test[2]
    assert (image.dtype, image.shape) == (np.float32, (32, 32, 3))
    fine = cifar_file(tmp_path, {"train": 6}, b"fine_labels")
    assert len(Cifar100(fine)) == 6


def test_a_pipe_is_no_image_and_no_archive(tmp_path):
    folder = tmp_path / "images" / "cat"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "1.jpg")  # nobody writes to it
    refusal = pytest.raises(ValueError, match="1.jpg is a named pipe, not a file")
    for backend in ("pil", "cv2"):
        paddle.vision.set_image_backend(backend)
        try:
            with refusal:
                paddle.vision.datasets.DatasetFolder(str(tmp_path / "images"))[0]
        finally:
            paddle.vision.set_image_backend("pil")
    os.mkfifo(tmp_path / "cifar.tar.gz")
    with pytest.raises(ValueError, match="cifar.tar.gz is a named pipe"):
        paddle.vision.datasets.Cifar10(str(tmp_path / "cifar.tar.gz"))


def test_cifar_runs_nothing_from_its_file(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("true",)

    path = cifar_file(tmp_path, {"test_batch": 1}, extra=Evil())
    with pytest.raises(ValueError, match="test_batch.*system"):
        Cifar10(path, mode="test")
    with pytest.raises(ValueError, match="found none"):
        Cifar10(path, mode="train")
    with open(path, "r+b") as file:
        file.truncate(60)
    with pytest.raises(ValueError, match="cut short or corrupt"):
        Cifar10(path, mode="test")


def test_flowers_items(tmp_path, no_pillow):
    files = flowers_files(tmp_path)
    train, valid = Flowers(**files), Flowers(**files, mode="valid", backend="cv2")
    assert (len(train), len(valid)) == (3, 1)
    image, label = train[1]
    assert (image.size, label.tolist(), label.dtype) == ((31, 39), [4], np.int64)
    image, _ = valid[0]
    assert (image.dtype, image.shape) == (np.float32, (33, 37, 3))
    assert not (tmp_path / "evil.jpg").exists() and not (tmp_path.parent / "evil.jpg").exists()
    with open(files["label_file"], "r+b") as file:
        file.truncate(150)
    with pytest.raises(ValueError, match="labels.mat"):
        Flowers(**files)


def test_folders_become_classes(tmp_path, no_pillow):
    root = image_folder(tmp_path)
    dataset = DatasetFolder(root)
    assert dataset.classes == ["ant", "bee", "cat"]
    assert len(dataset) == 9 and dataset.targets == [0] * 3 + [1] * 3 + [2] * 3
    image, target = dataset[4]
    assert (image.mode, image.size, target) == ("RGB", (33, 27), 1)
    paddle.vision.set_image_backend("cv2")
    assert dataset[0][0].shape == (24, 33, 3)
    assert [len(one) for one in ImageFolder(root)] == [1] * 9
    only = ImageFolder(root, is_valid_file=lambda path: path.endswith("2.jpeg"))
    assert len(only) == 3
    with pytest.raises(RuntimeError, match="Found 0 files"):
        ImageFolder(root, extensions=(".bmp",))
    with pytest.raises(RuntimeError, match="Found 0 directories"):
        DatasetFolder(root, extensions=(".bmp",))


# ---- batches in C++

MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]
TAILS = {
    "tensor": [T.ToTensor()],
    "normal": [T.ToTensor(), T.Normalize(MEAN, STD)],
    "planes": [T.Transpose(), T.Normalize([120.0, 130.5, 99], [50, 60, 70.5])],
    "rows": [T.Normalize([120.0, 130.5, 99], [50, 60, 70.5], "HWC")],
    "bytes": [T.Transpose()],
}
MOVES = {
    "none": [],
    "crop": [T.RandomCrop(24, padding=3, fill=(1, 2, 3)), T.RandomHorizontalFlip()],
    "middle": [T.RandomVerticalFlip(), T.Resize(20), T.CenterCrop((16, 18))],
    "area": [T.RandomResizedCrop(17), T.RandomHorizontalFlip(), T.RandomVerticalFlip(0.3)],
    "pad": [T.Pad((1, 2)), T.Resize((11, 13), "bicubic")],
    "nearest": [T.Resize((11, 13), "nearest"), T.RandomCrop((5, 6))],
}


def assert_same(dataset, known=True):
    """That the fields give the bits of the items, also of those that are drawn."""
    fields = arrays_of(dataset)
    assert (fields is not None) == known
    if not known:
        return
    indices = [2, 0, 1, 2]
    random.seed(5), np.random.seed(6)
    want = [dataset[i] for i in indices]
    random.seed(5), np.random.seed(6)
    got = [field.take(indices) for field in fields]
    for position, field in enumerate(fields):
        expected = np.stack([np.asarray(item[position]) for item in want])
        assert (got[position].dtype, field.shape) == (expected.dtype, expected.shape[1:])
        np.testing.assert_array_equal(got[position], expected)
    assert fields[0].draw is None or fields[0].draw(indices).shape[0] == 4


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("moves", MOVES)
def test_batches_have_the_bits_of_the_items(moves, tail, tmp_path, no_pillow):
    path = cifar_file(tmp_path, {"test_batch": 3})
    transform = T.Compose([*MOVES[moves], *TAILS[tail]])
    assert_same(Cifar10(path, mode="test", transform=transform))
    assert_same(Cifar10(path, mode="test", transform=transform, backend="cv2"))
    root = image_folder(tmp_path / "folder")
    if moves in ("none", "crop"):
        transform = T.Compose([T.Resize((26, 28)), *transform.transforms])
    for backend in ("pil", "cv2"):
        paddle.vision.set_image_backend(backend)
        assert_same(DatasetFolder(root, transform=transform))
        assert_same(ImageFolder(root, transform=transform))


@pytest.mark.parametrize("backend", ["pil", "cv2"])
@pytest.mark.parametrize(
    "transform",
    [
        None,
        T.Normalize([127.5], [127.5], "CHW"),
        T.Compose([T.Transpose(), T.Normalize([127.5], [127.5])]),
        T.Compose([T.RandomCrop(28, padding=2), T.ToTensor()]),
    ],
)
def test_batches_of_digits_have_the_bits_of_the_items(backend, transform, tmp_path):
    (image_path, label_path), _, _ = idx_files(tmp_path)
    assert_same(MNIST(image_path, label_path, transform=transform, backend=backend))


def test_batches_of_flowers_have_the_bits_of_the_items(tmp_path, no_pillow):
    files = flowers_files(tmp_path)
    transform = T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()])
    for backend in ("pil", "cv2"):
        assert_same(Flowers(**files, transform=transform, backend=backend))


def test_unknown_transforms_are_asked_sample_by_sample(tmp_path):
    (image_path, label_path), _, _ = idx_files(tmp_path)

    class Mine(T.Resize):
        pass

    for transform in (
        lambda image: np.asarray(image),
        T.Compose([T.ColorJitter(0.1), T.ToTensor()]),
        T.Compose([T.ToTensor(), T.RandomHorizontalFlip()]),
        T.Compose([Mine(8), T.ToTensor()]),
        T.Normalize([1, 2, 3], [1, 1, 1], "HWC"),
        T.Compose([T.Resize((8, 8))]),
    ):
        assert arrays_of(MNIST(image_path, label_path, transform=transform)) is None

    class Shifted(MNIST):
        def __getitem__(self, idx):
            return super().__getitem__((idx + 1) % len(self))

    assert arrays_of(Shifted(image_path, label_path)) is None


def test_part_of_a_set_keeps_its_fields(tmp_path, no_pillow):
    dataset = DatasetFolder(
        image_folder(tmp_path), transform=T.Compose([T.Resize((8, 9)), T.ToTensor()])
    )
    images, labels = arrays_of(dataset)
    part = images.select([7, 2])
    np.testing.assert_array_equal(part.take([0, 1]), images.take([7, 2]))
    assert labels.select([7, 2]).take([0, 1]).tolist() == [2, 0] and len(part) == 2


def test_corrupt_file_of_a_batch_is_named(tmp_path, no_pillow):
    root = image_folder(tmp_path)
    dataset = DatasetFolder(root, transform=T.Compose([T.Resize((8, 9)), T.ToTensor()]))
    bad = dataset.samples[4][0]
    os.truncate(bad, 90)
    images, _ = arrays_of(dataset)
    with pytest.raises(ValueError, match=f"{os.path.basename(bad)}: the PNG is cut short"):
        images.take(range(9))


def test_pillows_images_stay_pillows():
    pil = pytest.importorskip("PIL.Image")
    image = pil.fromarray(pixels(9, 12, 3))
    for transform in (T.Resize(5), T.CenterCrop(4), T.Pad(1), T.ColorJitter(0.3), T.Grayscale()):
        assert isinstance(transform(image), pil.Image)
