"""The two MATLAB files in which the labels of the flowers come.

    file    := text:124 version:u16 order:"IM" element*       little endian
    element := kind:u32 bytes:u32 content padding             padded to 8 bytes, unless compressed
             | kind:u16 bytes:u16 content:4                   a small one
    kind    := 14: matrix   15: a zlib stream of one element  1..9, 12, 13: numbers
    matrix  := flags dimensions name numbers                  each an element
"""

import struct
import zlib

import numpy as np

_NUMBERS = {
    **{1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"},
    **{12: "<i8", 13: "<u8"},
}
_MATRIX, _COMPRESSED = 14, 15
_LARGEST = 1 << 28  # bytes of an unpacked element


def read_mat(path):
    """The matrices of a file by name."""
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 128 or content[126:128] != b"IM":
        raise ValueError(
            f"{path}: byte 126: expected the mark IM of a MATLAB file of version 5, found "
            f"{content[126:128]!r}"
        )
    found = {}
    try:
        for kind, body in _elements(content[128:]):
            if kind == _COMPRESSED:
                unpacker = zlib.decompressobj()
                unpacked = unpacker.decompress(body, _LARGEST)
                kind, body = next(_elements(unpacked))
            if kind == _MATRIX:
                name, values = _matrix(body)
                found[name] = values
    except (struct.error, zlib.error, StopIteration, ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a whole MATLAB file of numbers: {error!r}") from None
    return found


def _elements(content):
    at = 0
    while at + 8 <= len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind >> 16:  # a small one
            kind, length, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            start = at + 8
            end = start + length
            if kind != _COMPRESSED:
                end += -length % 8
        if start + length > len(content):
            raise ValueError(f"an element of {length} bytes ends outside of the file")
        yield kind, content[start : start + length]
        at = end


def _matrix(body):
    parts = list(_elements(body))
    if len(parts) < 4:
        raise ValueError(f"a matrix has 4 parts, but {len(parts)} were found")
    extents = np.frombuffer(parts[1][1], _NUMBERS[parts[1][0]])
    kind, numbers = parts[3]
    values = np.frombuffer(numbers, _NUMBERS[kind])
    return parts[2][1].decode("latin-1"), values.reshape(extents, order="F")
