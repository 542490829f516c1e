"""Pickles that would take for ever, all of the memory, or change the process that reads them."""

import contextlib
import io
import os
import pickle
import struct
import sys
import tarfile
import tracemalloc

import numpy as np
import paddle
import pytest
import watched
from paddle.base import restricted_pickle
from paddle.dataset import cifar, common


def text(size):
    return b"X" + struct.pack("<I", size) + b"a" * size


def memo(number):
    return b"h" + bytes([number])


# An array of a megabyte, of bytes that are in memo 1.
ARRAY = (
    b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01J"
    + struct.pack("<i", 1 << 18)
    + b"\x85cnumpy\ndtype\nX\x02\0\0\0f4\x85RI00\nh\x01tb"
)
LAUGHS = b")" + b"2\x86" * 60  # a pair of pairs of pairs
CALLS = b"h\x01h\x00\x85R" * 100_000

HOSTILE = {
    "pairs of pairs": (LAUGHS, "would become more than"),
    "lists of lists": (
        b"]q\x00" + b"".join(b"](" + 2 * memo(i) + b"eq" + bytes([i + 1]) for i in range(60)),
        "would become more than",
    ),
    "dicts of dicts": (
        b"}q\x00"
        + b"".join(
            b"}(K\x00" + memo(i) + b"K\x01" + memo(i) + b"uq" + bytes([i + 1]) for i in range(60)
        ),
        "would become more than",
    ),
    "a key that is hashed for ever": (b"}" + LAUGHS + b"K\x01s", "a dict with a key of type tuple"),
    "such keys at once": (b"(" + LAUGHS + b"K\x01d", "a dict with a key of type tuple"),
    "a large key, often": (
        b"\x8b"
        + struct.pack("<i", 1_000_000)
        + b"\x01" * 1_000_000
        + b"q\x00}("
        + b"h\x00N" * 10_000
        + b"u",
        "a dict with a key of type int",
    ),
    "a set": (b"\x8f(" + LAUGHS + b"\x90", "it holds more than arrays"),
    "a large bytearray": (b"\x96" + struct.pack("<Q", 1 << 40), "1099511627776 bytes in a file of"),
    "large bytes": (b"\x8e" + struct.pack("<Q", 1 << 40), "it is cut short"),
    "a large text": (b"\x8d" + struct.pack("<Q", 1 << 40), "it is cut short"),
    "a large number": (b"\x8b" + struct.pack("<i", 0x7FFFFFFF), "it is cut short"),
    "a number of many digits": (b"L" + b"9" * 1_000_000 + b"L\n", "it is not a whole pickle"),
    "a large frame": (b"\x95" + struct.pack("<Q", 1 << 60), "it is"),
    "lists within lists": (b"]" * 200_000 + b"a" * 199_999, "more than 100 deep"),
    "a list within itself": (b"]q\x00h\x00a", "more than 100 deep"),
    "copies of a text": (
        text(1 << 20) + b"q\x00c_codecs\nencode\nq\x01(" + CALLS + b"l",
        "would become more than",
    ),
    "copies of a list": (
        b"](" + b"N" * 100_000 + b"eq\x00cbuiltins\ntuple\nq\x01(" + CALLS + b"l",
        "a tuple of a list",
    ),
    "copies of a dict": (
        b"]("
        + b"K\x01K\x02\x86" * 10_000
        + b"eq\x00ccollections\nOrderedDict\nq\x01("
        + CALLS
        + b"l",
        "would become more than",
    ),
    "copies of an array": (
        b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"q\x010(" + ARRAY * 1000 + b"l",
        "would become more than",
    ),
    "an array without its elements": (
        b"C\x00q\x010" + ARRAY,
        "cannot reshape array of size 0 into shape",
    ),
    "an array of structures": (
        ARRAY.replace(b"X\x02\0\0\0f4", b"X\x0d\0\0\0f4,(9999999)f").replace(b"h\x01", b"C\x00"),
        "elements of type 'f4,",
    ),
    "many arguments, often": (
        b"("
        + b"N" * 1_000_000
        + b"tq\x00cnumpy\nndarray\nq\x01("
        + b"h\x01h\x00R0" * 100_000
        + b"l",
        "a call takes at most 8 arguments, but gets 1000000",
    ),
    "arguments in a list": (b"cnumpy\ndtype\n]R", "at most 8 arguments, but gets list"),
    "empty lists": (b"(" + b"]" * 600_000 + b"l", "would become more than"),
    "empty dicts": (b"(" + b"}" * 600_000 + b"l", "would become more than"),
    "marks": (b"(" * 600_000, "would become more than"),
    "tuples within tuples": (b")" + b"\x85" * 600_000, "would become more than"),
    "scattered numbers": (
        b"N" + b"".join(b"r" + struct.pack("<I", 7 * i) for i in range(1, 400_000)),
        "would become more than",
    ),
    "a change of the reader": (
        b"c_codecs\nencode\nN}X\x0c\0\0\0__defaults__)s\x86b",
        "it changes a value of type",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_pickle_stays_small(name):
    body, why = HOSTILE[name]
    with pytest.raises(restricted_pickle.Refused, match=why):
        restricted_pickle.loads(b"\x80\x05" + body + b".")


PIECES = (
    *(b"N", b"]", b"}", b"(", b"\x94", b"\x85", b"2\x86"),
    *(b"N\x94", b"]\x94", b"h\x00)R", b"h\x00)R\x94"),
)


@pytest.mark.parametrize("piece", PIECES)
def test_reading_takes_memory_in_proportion(piece):
    body = b"\x80\x05cnumpy\nndarray\n\x94)" + piece * (600_000 // len(piece)) + b"."
    tracemalloc.start()
    try:
        with contextlib.suppress(restricted_pickle.Refused):
            restricted_pickle.loads(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # What an object takes depends on Python.
    assert peak < 1.5 * (16 * len(body) + (1 << 24)), peak


@pytest.mark.parametrize("protocol", [2, 4])
def test_tiny_samples_need_no_more_than_files_are_granted(monkeypatch, protocol):
    """Lists of one number become larger than anything else that users write."""
    monkeypatch.setattr(restricted_pickle, "_most", lambda size: 16 * size)
    samples = [[[i % 50], [i % 7000], (i % 100,), {"a": 1}, np.float32(1)] for i in range(5_000)]
    assert restricted_pickle.loads(pickle.dumps(samples, protocol)) == samples


@pytest.mark.parametrize("value", [[1, 2], "text", None, np.ones(3), (1,)])
def test_a_state_is_a_dict(tmp_path, value):
    paddle.save(value, str(tmp_path / "s.pdparams"))
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        paddle.static.create_parameter([2], "float32", name="w")
    kind = type(value).__name__
    expected = f"s.pdparams must hold a dict from names to arrays, but holds a value of type {kind}"
    for read in (
        lambda path: paddle.static.load(program, path),
        lambda path: paddle.static.load_program_state(path),
    ):
        with pytest.raises(ValueError, match=expected):
            read(str(tmp_path / "s"))


# Every way to such a file, in a process that has little memory and time.
READERS = """
import resource, sys
import paddle
from paddle import static
from paddle.dataset import common
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
program = static.Program()
with static.program_guard(program):
    static.create_parameter([2], "float32", name="w")
for read in (
    lambda path: paddle.load(path),
    lambda path: static.load(program, path),
    lambda path: static.load_program_state(path),
    lambda path: list(common.cluster_files_reader(path, 1, 0)()),
):
    for path in sys.argv[1:]:
        try:
            read(path)
        except ValueError as error:
            assert path in str(error) and "\\n" not in str(error), error
        else:
            raise AssertionError(path)
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_every_reader_refuses_them_in_one_sentence(tmp_path):
    paths = []
    for i, (body, _) in enumerate(HOSTILE.values()):
        paths.append(tmp_path / f"{i}.pdparams")
        paths[-1].write_bytes(b"\x80\x05" + body + b".")
    command = [sys.executable, "-c", READERS, *map(str, paths)]
    done = watched.run(command, seconds=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 1000, done.stdout  # megabytes


class Evil:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


def test_readers_of_samples_run_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part-0").write_bytes(pickle.dumps([Evil()]))
    with pytest.raises(
        ValueError, match="part-0 holds no samples that can be read: it asks for po"
    ):
        list(common.cluster_files_reader("part-*", 1, 0)())
    os.mkfifo("pipe")  # that nobody writes to
    with pytest.raises(ValueError, match="pipe is a named pipe, not a file"):
        list(common.cluster_files_reader("pipe", 1, 0)())
    os.remove("pipe")
    batch = pickle.dumps({b"data": Evil(), b"labels": []}, protocol=2)
    with tarfile.open("images.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("data_batch_1")
        info.size = len(batch)
        archive.addfile(info, io.BytesIO(batch))
    with pytest.raises(ValueError, match="not a batch of images"):
        list(cifar.reader_creator("images.tar.gz", "data_batch")())
    assert sorted(os.listdir()) == ["images.tar.gz", "part-0"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_samples_are_read_as_they_were_written(tmp_path, protocol):
    samples = [
        (np.arange(6, dtype="float32").reshape(2, 3), np.int64(3), "text", 2.5, None, True, b"b"),
        ("name", np.asfortranarray(np.ones((2, 3), ">i4"))),
        {"key": [1, 2, {"deep": (1 << 40, -1)}], 3: np.float64(1)},
    ]
    (tmp_path / "part").write_bytes(pickle.dumps(samples, protocol))
    found = list(common.cluster_files_reader(str(tmp_path / "part"), 1, 0)())
    np.testing.assert_array_equal(found[0][0], samples[0][0])
    assert found[0][1:] == samples[0][1:]
    assert found[1][0] == "name" and (found[1][1] == 1).all()
    assert found[2] == samples[2]


def test_what_is_used_twice_is_there_twice(tmp_path):
    shared = np.ones((300, 300), "float32")
    paddle.save({"a": shared, "b": [shared, shared]}, str(tmp_path / "s"))
    found = paddle.load(str(tmp_path / "s"), return_numpy=True)
    assert all((one == shared).all() for one in (found["a"], *found["b"]))
