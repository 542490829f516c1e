"""Serialized programs taken apart and put together again, as lists of fields, to be bent in tests.

    program = wire.parse(data)
    program.all("blocks")[0].all("ops")[3].set("type", b"scalee")
    wire.dump(program)
"""

# Of each message: the fields by number, and the message that a field holds where it holds one.
MESSAGES = {
    "Program": {1: ("blocks", "Block"), 4: ("version", "Version")},
    "Version": {1: ("version", None)},
    "Block": {1: ("idx", None), 2: ("parent", None), 3: ("vars", "Var"), 4: ("ops", "Op")},
    "Var": {1: ("name", None), 2: ("type", "VarType"), 3: ("persistable", None)},
    "VarType": {1: ("type", None), 3: ("lod_tensor", "LodTensor")},
    "LodTensor": {1: ("tensor", "Tensor"), 2: ("lod_level", None)},
    "Tensor": {1: ("dtype", None), 2: ("dims", None)},
    "Op": {
        1: ("inputs", "Slot"),
        2: ("outputs", "Slot"),
        3: ("type", None),
        4: ("attrs", "Attr"),
    },
    "Slot": {1: ("slot", None), 2: ("vars", None)},
    "Attr": {1: ("name", None), 2: ("type", None), 12: ("block", None)},
}
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


class Message:
    def __init__(self, kind, fields):
        self.kind = kind
        self.fields = fields  # (number, wire type, value)

    def number(self, name):
        return next(n for n, (known, _) in MESSAGES[self.kind].items() if known == name)

    def all(self, name):
        return [value for n, _, value in self.fields if n == self.number(name)]

    def drop(self, name):
        self.fields = [field for field in self.fields if field[0] != self.number(name)]

    def add(self, name, value):
        kind = VARINT if isinstance(value, int) else LENGTH
        self.fields.append((self.number(name), kind, value))

    def set(self, name, value):
        self.drop(name)
        self.add(name, value)

    def reverse(self, name):
        values = self.all(name)
        self.drop(name)
        for value in reversed(values):
            self.add(name, value)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data, kind="Program"):
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire)
            if size is None:
                size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            inner = MESSAGES[kind].get(number, (None, None))[1]
            if inner is not None:
                value = parse(value, inner)
        fields.append((number, wire, value))
    return Message(kind, fields)


def dump(message):
    out = bytearray()
    for number, wire, value in message.fields:
        out += varint(number << 3 | wire)
        if wire == VARINT:
            out += varint(value)
            continue
        data = dump(value) if isinstance(value, Message) else value
        out += varint(len(data)) + data if wire == LENGTH else data
    return bytes(out)
