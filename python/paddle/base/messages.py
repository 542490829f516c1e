"""Messages of Google's protocol buffers, second version, from their definitions: as bytes, as text, and
as objects with the words of that library. Python's package of it is not needed.

>>> made = messages("message Point { required int32 x = 1; repeated string names = 2; }")
>>> made["Point"](x=3).SerializeToString()
b'\\x08\\x03'
"""

import re
import struct
from typing import NamedTuple

from . import message_text

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_PACKED = {"double": (_FIXED64, "<d"), "float": (_FIXED32, "<f")}
_WORD = re.compile(r"\s*(?://[^\n]*\s*)*([\w.-]+|[{}=;\[\]]|$)")


class Field(NamedTuple):
    """A field of a message."""

    number: int
    name: str
    type: object  # a scalar's word, an Enum, or a class of messages
    repeated: bool = False
    required: bool = False
    default: object = None

    @property
    def is_message(self):
        """Whether it holds messages."""
        return isinstance(self.type, type)


class Enum:
    """Names of numbers."""

    def __init__(self, name, numbers):
        self.name, self._numbers = name, numbers

    def Name(self, number):  # noqa: N802 (protobuf's name)
        """The name of a number."""
        for name, value in self._numbers.items():
            if value == number:
                return name
        raise ValueError(f"{self.name} has no value {number}")

    def Value(self, name):  # noqa: N802
        """The number of a name."""
        if name not in self._numbers:
            raise ValueError(f"{self.name} has no value {name!r}")
        return self._numbers[name]

    def keys(self):
        """The names."""
        return list(self._numbers)

    def values(self):
        """The numbers."""
        return list(self._numbers.values())

    def items(self):
        """Both."""
        return list(self._numbers.items())

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._numbers:
            raise AttributeError(f"{self.name} has no value {name!r}")
        return self._numbers[name]


class _Several(list):
    """The values of a repeated field; of messages ``add()`` appends one."""

    def __init__(self, message, field):
        super().__init__()
        self._message, self._field = message, field

    def add(self, **values):
        """Append a message, and return it."""
        made = self._field.type(**values)
        super().append(made)
        self._message._changed()
        return made

    def append(self, value):
        super().append(_checked(self._message, self._field, value))
        self._message._changed()

    def extend(self, values):
        for value in values:
            self.append(value)


def _checked(message, field, value):
    """A value as the field holds it; messages are copied."""
    where = f"{type(message).__name__}.{field.name}"
    kind = field.type
    if field.is_message:
        if not isinstance(value, kind):
            raise TypeError(f"{where} must be a {kind.__name__}, but is a {type(value).__name__}")
        made = kind()
        made.CopyFrom(value)
        return made
    if isinstance(kind, Enum):
        return kind.Value(value) if isinstance(value, str) else int(value)
    if kind == "string" and isinstance(value, bytes):
        value = value.decode()
    made = {"string": str, "bool": bool, "float": float, "double": float}.get(kind, int)
    if (made is str) != isinstance(value, str):
        raise TypeError(f"{where} must be a {kind}, but is {value!r}")
    if kind == "float":
        return struct.unpack("<f", struct.pack("<f", value))[0]
    return made(value)


class Message:
    """The base of all messages."""

    _fields = {}  # by name, in the order of their numbers

    def __init__(self, **values):
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_above", None)  # (message, field) that this one is part of
        object.__setattr__(self, "_unknown", b"")
        for name, value in values.items():
            if self._field(name).repeated:
                getattr(self, name).extend(value)
            elif self._field(name).is_message:
                getattr(self, name).CopyFrom(value)
            else:
                setattr(self, name, value)

    def _field(self, name):
        if name not in self._fields:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return self._fields[name]

    def __getattr__(self, name):
        field = self._field(name)
        if name in self._values:
            return self._values[name]
        if not field.repeated and not field.is_message:
            return field.default
        made = _Several(self, field) if field.repeated else field.type()
        if not field.repeated:
            object.__setattr__(made, "_above", (self, name))
            object.__setattr__(made, "_unset", True)
        self._values[name] = made
        return made

    def __setattr__(self, name, value):
        field = self._field(name)
        if field.repeated or field.is_message:
            raise AttributeError(
                f"{name} of {type(self).__name__} is no single value: change what it holds"
            )
        self._values[name] = _checked(self, field, value)
        self._changed()

    _unset = False  # a part that was looked at, and never written

    def _changed(self):
        object.__setattr__(self, "_unset", False)
        if self._above is not None:
            self._above[0]._changed()

    def HasField(self, name):  # noqa: N802
        """Whether a field that is not repeated has been given."""
        if self._field(name).repeated:
            raise ValueError(f"{name} of {type(self).__name__} is repeated: ask for its length")
        return name in self._values and not getattr(self._values[name], "_unset", False)

    def ClearField(self, name):  # noqa: N802
        """Take a field away."""
        self._field(name)
        self._values.pop(name, None)

    def Clear(self):  # noqa: N802
        """Take all fields away."""
        self._values.clear()

    def ListFields(self):  # noqa: N802
        """(field, value) of those that have been given, by number."""
        given = []
        for field in self._fields.values():
            if self._values.get(field.name) if field.repeated else self.HasField(field.name):
                given.append((field, self._values[field.name]))
        return given

    def IsInitialized(self):  # noqa: N802
        """Whether all required fields have been given."""
        return not self._missing()

    def _missing(self):
        found = [
            one.name
            for one in self._fields.values()
            if one.required and not self.HasField(one.name)
        ]
        for field, value in self.ListFields():
            if field.is_message:
                for part in value if field.repeated else [value]:
                    found += [f"{field.name}.{name}" for name in part._missing()]
        return found

    def MergeFrom(self, other):  # noqa: N802
        """Take what is given in another message of the kind, beside what is here."""
        for field, value in other.ListFields():
            if field.repeated:
                getattr(self, field.name).extend(value)
            elif field.is_message:
                getattr(self, field.name).MergeFrom(value)
            else:
                setattr(self, field.name, value)
        object.__setattr__(self, "_unknown", self._unknown + other._unknown)
        self._changed()

    def CopyFrom(self, other):  # noqa: N802
        """Hold what another message of the kind does."""
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def __eq__(self, other):
        return type(other) is type(self) and self.ListFields() == other.ListFields()

    __hash__ = None

    def __str__(self):
        return message_text.written(self)

    __repr__ = __str__

    # ---- bytes

    def SerializeToString(self):  # noqa: N802
        """The message as bytes."""
        missing = self._missing()
        if missing:
            raise ValueError(f"{type(self).__name__} lacks {', '.join(missing)}")
        return self.SerializePartialToString()

    def SerializePartialToString(self):  # noqa: N802
        """The message as bytes, whatever it lacks."""
        parts = []
        for field, value in self.ListFields():
            for one in value if field.repeated else [value]:
                parts.append(_dumped(field, one))
        return b"".join([*parts, self._unknown])

    def ByteSize(self):  # noqa: N802
        """The number of bytes of the message."""
        return len(self.SerializePartialToString())

    def ParseFromString(self, data):  # noqa: N802
        """Hold what the bytes of a message say."""
        self.Clear()
        self.MergeFromString(data)
        missing = self._missing()
        if missing:
            raise ValueError(
                f"these bytes are no {type(self).__name__}: {', '.join(missing)} is missing"
            )
        return len(data)

    def MergeFromString(self, data):  # noqa: N802
        """Take what the bytes of a message say, beside what is here."""
        data, at = bytes(data), 0
        by_number = {field.number: field for field in self._fields.values()}
        while at < len(data):
            start = at
            key, at = _varint(data, at)
            raw, at = _value(data, at, key & 7)
            field = by_number.get(key >> 3)
            if field is None:
                object.__setattr__(self, "_unknown", self._unknown + data[start:at])
            else:
                self._take(field, raw)
        self._changed()
        return len(data)

    def _take(self, field, raw):
        if field.is_message:
            part = getattr(self, field.name)
            (part.add() if field.repeated else part).MergeFromString(_bytes(field, raw))
        elif not field.repeated:
            self._values[field.name] = _loaded(field, raw)
        elif isinstance(raw, bytes) and field.type != "string":
            getattr(self, field.name).extend(_unpacked(field, raw))
        else:
            getattr(self, field.name).append(_loaded(field, raw))

    @classmethod
    def FromString(cls, data):  # noqa: N802
        """The message that bytes hold."""
        made = cls()
        made.ParseFromString(data)
        return made


# ---- values as bytes


def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"the message is cut short or corrupt at byte {at}")
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value & (2**64 - 1), at


def _value(data, at, kind):
    """(the value at a place as it was written, the place behind it)"""
    if kind == _VARINT:
        return _varint(data, at)
    if kind == _LENGTH:
        length, at = _varint(data, at)
    else:
        length = {_FIXED64: 8, _FIXED32: 4}.get(kind, len(data) + 1)
    if at + length > len(data):
        raise ValueError(f"the message is cut short or corrupt at byte {at}")
    return data[at : at + length], at + length


def _bytes(field, raw):
    if not isinstance(raw, bytes):
        raise ValueError(f"the field {field.name} of a message must be bytes, but is a number")
    return raw


def _loaded(field, raw):
    if field.type == "string":
        return _bytes(field, raw).decode("utf-8", "surrogateescape")
    if field.type in _PACKED:
        _, code = _PACKED[field.type]
        if not isinstance(raw, bytes) or len(raw) != struct.calcsize(code):
            raise ValueError(f"the field {field.name} of a message is no {field.type}")
        return struct.unpack(code, raw)[0]
    if isinstance(raw, bytes):
        raise ValueError(f"the field {field.name} of a message must be a number, but is bytes")
    if field.type == "bool":
        return bool(raw)
    return raw - 2**64 if raw >= 2**63 else raw


def _unpacked(field, raw):
    at = 0
    while at < len(raw):
        kind = _PACKED.get(field.type, (_VARINT,))[0]
        one, at = _value(raw, at, kind)
        yield _loaded(field, one)


def _coded(number):
    number &= 2**64 - 1
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _dumped(field, value):
    if field.is_message or field.type == "string":
        data = (
            value.SerializePartialToString()
            if field.is_message
            else value.encode("utf-8", "surrogateescape")
        )
        return _coded(field.number << 3 | _LENGTH) + _coded(len(data)) + data
    if field.type in _PACKED:
        kind, code = _PACKED[field.type]
        return _coded(field.number << 3 | kind) + struct.pack(code, value)
    return _coded(field.number << 3 | _VARINT) + _coded(int(value))


# ---- definitions


def messages(text, module=None):
    """{name: class or Enum, name: number} of what a .proto file defines at its top."""
    words = [match[1] for match in _WORD.finditer(text)]
    words.reverse()
    return _defined(words, {}, module)


def _defined(words, around, module):
    """What stands up to the next closing bracket; the fields are under ``_fields``."""
    inside, fields = {}, {}
    while (word := words.pop()) not in ("}", ""):
        if word == "message":
            name, _ = words.pop(), words.pop()
            parts = _defined(words, {**around, **inside}, module)
            inside[name] = type(name, (Message,), {"__module__": module, **parts})
        elif word == "enum":
            name, _ = words.pop(), words.pop()
            inside |= _enum(name, words)
        else:
            field = _read_field(word, words, {**around, **inside})
            fields[field.name] = field
    in_order = sorted(fields.items(), key=lambda pair: pair[1].number)
    return inside | ({"_fields": dict(in_order)} if fields else {})


def _enum(name, words):
    numbers = {}
    while (word := words.pop()) != "}":
        _, number, _ = words.pop(), words.pop(), words.pop()
        numbers[word] = int(number)
    return {name: Enum(name, numbers), **numbers}


def _read_field(label, words, known):
    kind, name, _, number = (words.pop() for _ in range(4))
    default = None
    if words[-1] == "[":
        default = [words.pop() for _ in range(5)][3]
    words.pop()
    kind = known.get(kind, kind)
    if isinstance(kind, Enum):
        default = kind.values()[0] if default is None else kind.Value(default)
    elif not isinstance(kind, type):
        first = {"string": "", "bool": False, "float": 0.0, "double": 0.0}.get(kind, 0)
        given = default == "true" if kind == "bool" else type(first)(default or 0)
        default = first if default is None else given
    return Field(int(number), name, kind, label == "repeated", label == "required", default)
