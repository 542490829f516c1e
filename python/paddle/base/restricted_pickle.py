"""Reading pickles, whoever wrote them.

Reading makes numpy arrays, dicts, lists, tuples, texts, bytes and numbers, whatever a file asks for,
and takes time and memory in proportion to the size of the file: what is used more than once counts
as often as it is used.
"""

import io
import pickle
import re
import struct

import numpy as np

Refused = pickle.UnpicklingError

_DEEPEST = 100  # lists and dicts within each other
_LONGEST_KEY = 1 << 16
_OBJECT = 64  # bytes of a list, a dict, a tuple, or what a call makes
_MOST_ARGUMENTS = 8  # numpy and Paddle give 4


def _most(size):
    """The bytes that a file of this size may become."""
    return 16 * size + (1 << 24)


def _check_bytes(made, size):
    if made > _most(size):
        raise Refused(f"its {size} bytes would become more than {_most(size)}")


# ---- a file builds these, which become arrays once they are found in order


class _DType:
    def __init__(self, code="", *_):
        self.code = code.decode("latin1") if isinstance(code, bytes) else code
        self.order = "="

    def set(self, state):
        order = state[1]
        self.order = order.decode("latin1") if isinstance(order, bytes) else order

    def resolve(self):
        if not re.fullmatch(r"[biuf]\d{0,2}", self.code):
            raise Refused(f"elements of type {self.code[:100]!r}")
        return np.dtype(self.code).newbyteorder(self.order)


class _Array:
    __slots__ = ("state",)

    def __init__(self, *_):
        self.state = ()

    def set(self, state):
        self.state = state[-4:]

    def size(self):
        return len(self.state[3]) if len(self.state) == 4 else 0

    def resolve(self):
        shape, dtype, fortran, data = self.state
        data = data.encode("latin1") if isinstance(data, str) else data
        array = np.frombuffer(data, dtype.resolve())
        return array.reshape(shape, order="F" if fortran else "C").astype(
            array.dtype.newbyteorder("=")
        )


def _array(shape, dtype, fortran, data):
    made = _Array()
    made.state = (shape, dtype, fortran, data)
    return made


def _scalar(dtype, data):
    return _array((), dtype, False, data)


def _frombuffer(data, dtype, shape, order):
    return _array(shape, dtype, order == "F", data)


def _tensor(text, variables):
    """Paddle pickles a tensor as the call eval("data", {"data": array})."""
    if text != "data":
        raise Refused(f"a call of eval({text[:100]!r})")
    return variables["data"]


def _tuple(value):
    """Paddle pickles a named tensor as the call tuple((name, array))."""
    if not isinstance(value, tuple):
        raise Refused(f"a tuple of a {type(value).__name__}")
    return value


_ALLOWED = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_core}.multiarray", "_reconstruct"] = _Array
    _ALLOWED[f"{_core}.multiarray", "scalar"] = _scalar
    _ALLOWED[f"{_core}.numeric", "_frombuffer"] = _frombuffer
for _module in ("builtins", "__builtin__"):
    _ALLOWED[_module, "eval"] = _tensor
    _ALLOWED[_module, "tuple"] = _tuple


def _check_key(key):
    """Some values take for ever to hash."""
    plain = key is None or isinstance(key, (bool, float))
    text = isinstance(key, (str, bytes)) and len(key) <= _LONGEST_KEY
    number = isinstance(key, int) and -(1 << 64) < key < 1 << 64
    if not (plain or text or number):
        raise Refused(f"a dict with a key of type {type(key).__name__}")


class _Memo:
    """What a file uses again, by number: in order, which takes less than a dict, or in any order."""

    def __init__(self, count):
        self._ordered, self._others, self._count = [], {}, count

    def __len__(self):
        return len(self._ordered) + len(self._others)

    def __getitem__(self, number):
        in_order = 0 <= number < len(self._ordered)
        return self._ordered[number] if in_order else self._others[number]

    def __setitem__(self, number, value):
        if number == len(self._ordered):
            self._others.pop(number, None)
            self._ordered.append(value)
        elif number < len(self._ordered):
            self._ordered[number] = value
        else:
            self._count(0 if number in self._others else 2 * _OBJECT)
            self._others[number] = value


class _Reader(pickle._Unpickler):
    """Python's own, because the one in C takes as much memory as a broken file asks for."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def __init__(self, data, encoding):
        super().__init__(io.BytesIO(data), encoding=encoding)
        self._size = self._left = len(data)
        self.memo = _Memo(self._count)

    def find_class(self, module, name):
        if (module, name) == ("_codecs", "encode"):
            return self._encode
        if (module, name) == ("collections", "OrderedDict"):
            return self._dict
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise Refused(f"it asks for {module[:100]}.{name[:100]}") from None

    def _count(self, size):
        """What a few bytes of the file make: an object, or a copy of a text once more."""
        self._left -= size
        _check_bytes(self._size - self._left, self._size)

    def _encode(self, text, encoding="latin1"):
        self._count(len(text))
        return text.encode("latin1")

    def _dict(self, items=()):
        self._count(64 * len(items))
        made = {}
        for key, value in items:
            _check_key(key)
            made[key] = value
        return made

    def load_mark(self):
        self._count(_OBJECT)
        super().load_mark()

    def pop_mark(self):
        self._left += _OBJECT
        return super().pop_mark()

    def load_reduce(self):
        arguments = self.stack[-1]
        if not isinstance(arguments, tuple) or len(arguments) > _MOST_ARGUMENTS:
            found = len(arguments) if isinstance(arguments, tuple) else type(arguments).__name__
            raise Refused(f"a call takes at most {_MOST_ARGUMENTS} arguments, but gets {found}")
        self._count(_OBJECT)
        super().load_reduce()

    def load_build(self):
        if not isinstance(self.stack[-2], (_Array, _DType)):
            raise Refused(f"it changes a value of type {type(self.stack[-2]).__name__}")
        state = self.stack.pop()
        self.stack[-1].set(state)

    def load_bytearray8(self):
        (size,) = struct.unpack("<Q", self.read(8))
        if size > self._size:
            raise Refused(f"{size} bytes in a file of {self._size}")
        self.append(bytes(self.read(size)))

    def load_setitem(self):
        _check_key(self.stack[-2])
        super().load_setitem()

    def load_setitems(self):
        for key in self.stack[::2]:
            _check_key(key)
        super().load_setitems()

    def load_dict(self):
        for key in self.stack[::2]:
            _check_key(key)
        super().load_dict()

    def refuse(self):
        raise Refused("it holds more than arrays, dicts, lists, texts and numbers")


for _name in ("BUILD", "BYTEARRAY8", "SETITEM", "SETITEMS", "DICT", "MARK", "REDUCE"):
    _Reader.dispatch[getattr(pickle, _name)[0]] = getattr(_Reader, f"load_{_name.lower()}")


def _counted(load):
    def counted(self):
        self._count(_OBJECT)
        load(self)

    return counted


for _name in ("EMPTY_LIST", "EMPTY_DICT", "LIST", "DICT", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"):
    _code = getattr(pickle, _name)[0]
    _Reader.dispatch[_code] = _counted(_Reader.dispatch[_code])
for _name in (
    *("INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EMPTY_SET", "ADDITEMS", "FROZENSET"),
    *("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER"),
):
    _Reader.dispatch[getattr(pickle, _name)[0]] = _Reader.refuse


class _Resolver:
    """Puts arrays in the place of what stands for them."""

    def __init__(self, size, unnamed):
        self._size, self._unnamed = size, unnamed
        self._made = 0  # bytes of arrays
        self._done = {}  # id: (value, bytes), because values may be used more than once

    def resolve(self, value, depth=0):
        """(value, bytes)."""
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return value, 8
        if depth > _DEEPEST:
            raise Refused(f"values lie more than {_DEEPEST} deep within each other")
        if id(value) not in self._done:
            made, size = self._resolved(value, depth + 1)
            _check_bytes(size, self._size)
            self._done[id(value)] = made, size
        return self._done[id(value)]

    def _resolved(self, value, depth):
        if isinstance(value, _Array):
            self._made += value.size()
            _check_bytes(self._made, self._size)
            made = value.resolve()
            return made, 64 + made.nbytes
        if isinstance(value, dict):
            pairs = [self.resolve(one, depth) for one in value.values()]
            made = dict(zip(value, (one for one, _ in pairs)))
        elif isinstance(value, (list, tuple)):
            pairs = [self.resolve(one, depth) for one in value]
            made = type(value)(one for one, _ in pairs)
            if self._unnamed and [type(one) for one in made[:3]] == [str, np.ndarray]:
                made = made[1] if isinstance(made, tuple) else made
        else:
            raise Refused(f"a value of type {type(value).__name__}")
        return made, 64 + sum(size for _, size in pairs)


def loads(data, encoding="latin1", unnamed=False):
    """The value that bytes hold; raises ``Refused`` where they hold none of those above.

    ``unnamed``: tensors of dygraph come with their names, as tuples, which are left out.
    """
    try:
        return _Resolver(len(data), unnamed).resolve(_Reader(data, encoding).load())[0]
    except Refused:
        raise
    except EOFError:
        raise Refused("it is cut short") from None
    except Exception as error:  # noqa: BLE001 - a broken pickle fails in many ways
        raise Refused(f"it is not a whole pickle: {error!r:.200}") from None
