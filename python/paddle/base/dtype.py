"""Element types: equal to their names, to numpy's types and to the numbers of Paddle's VarType."""

import enum

import numpy as np

import _flotilla as core


class dtype(int):  # noqa: N801 (Paddle's name)
    """The type of a tensor's elements. Its value is the number in Paddle's files.

    >>> paddle.float32 == "float32", paddle.float32 == np.float32, int(paddle.float32)
    (True, True, 5)
    """

    def __new__(cls, what):
        return _BY_CODE[core.dtype_code(what)]

    def __eq__(self, other):
        try:
            return int(self) == (int(other) if isinstance(other, int) else core.dtype_code(other))
        except (TypeError, ValueError, RuntimeError):
            return False

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__

    @property
    def name(self):
        """numpy's name, such as float32."""
        return _NAMES[int(self)]

    @property
    def dtype(self):
        """numpy's dtype, so that numpy takes this one wherever it takes its own."""
        return np.dtype("uint16" if self.name == "bfloat16" else self.name)

    def __repr__(self):
        return f"paddle.{self.name}"

    __str__ = __repr__

    def __format__(self, spec):
        return format(str(self), spec)

    def __reduce__(self):
        return dtype, (self.name,)


_NAMES = {
    core.dtype_code(name): name
    for name in (
        *("bool", "int8", "uint8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64"),
    )
}
_BY_CODE = {code: int.__new__(dtype, code) for code in _NAMES}

globals().update({one.name: one for one in _BY_CODE.values()})
__all__ = ["dtype", *_NAMES.values()]


class VarKind(enum.IntEnum):
    """What a variable holds; the numbers of Paddle's files."""

    LOD_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    LOD_RANK_TABLE = 12
    LOD_TENSOR_ARRAY = 13
    PLACE_LIST = 14
    READER = 15
    RAW = 17
    STRING = 25
    STRINGS = 26
    VOCAB = 27
    FEED_LIST = 28
    SPARSE_COO = 30
    SPARSE_CSR = 31

    def __str__(self):
        return f"VarType.{self.name}"

    __repr__ = __str__


class VarType:
    """Element types and kinds of variables under one roof, as ``core.VarDesc.VarType`` has them."""

    BOOL, INT8, UINT8, INT16 = dtype("bool"), dtype("int8"), dtype("uint8"), dtype("int16")
    INT32, INT64, FP16, BF16 = dtype("int32"), dtype("int64"), dtype("float16"), dtype("bfloat16")
    FP32, FP64 = dtype("float32"), dtype("float64")


for _kind in VarKind:
    setattr(VarType, _kind.name, _kind)


class VarDesc:
    """Holds ``VarType``."""

    VarType = VarType


def convert_dtype(what):
    """The name of an element type, however it is given.

    >>> convert_dtype(np.float32), convert_dtype(3)
    ('float32', 'int64')
    """
    return core.dtype_name(what)


def convert_np_dtype_to_dtype_(np_dtype):
    """The element type for one of numpy's."""
    return dtype(np_dtype)


def get_default_dtype():
    """The name of the element type of parameters that state none."""
    return core.default_dtype()


def set_default_dtype(d):
    """Choose the element type of parameters that state none: float16, float32 or float64."""
    if dtype(d).name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError(f"the default dtype must be a floating one, but is {dtype(d).name}")
    core.set_default_dtype(d)
