"""Messages as text: ``name: "x" slots { type: "uint64" }``."""

import re

_TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\w.+-]+|[{}:;,\[\]<>])"""
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def written(message, indent=""):
    """A message as text."""
    lines = []
    for field, value in message.ListFields():
        for one in value if field.repeated else [value]:
            if field.is_message:
                inside = written(one, indent + "  ")
                lines.append(f"{indent}{field.name} {{\n{inside}{indent}}}\n")
            else:
                lines.append(f"{indent}{field.name}: {_shown(field, one)}\n")
    return "".join(lines)


def _shown(field, value):
    if field.type == "string":
        return _quoted(value)
    if field.type == "bool":
        return "true" if value else "false"
    if field.type == "float":
        return _shortest(value)
    if hasattr(field.type, "Name") and value in field.type.values():
        return field.type.Name(value)
    return repr(value) if isinstance(value, float) else str(value)


def _shortest(value):
    """The fewest digits that stand for a number of single precision."""
    for digits in range(6, 9):
        text = f"{value:.{digits}g}"
        if abs(float(text) - value) <= abs(value) * 2**-26:
            break
    return text


def _quoted(text):
    parts = []
    for byte in text.encode("utf-8", "surrogateescape"):
        letter = chr(byte)
        if letter in "\n\r\t":
            letter = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[letter]
        elif letter in "\"\\'":
            letter = "\\" + letter
        elif not 32 <= byte < 127:
            letter = f"\\{byte:03o}"
        parts.append(letter)
    return '"' + "".join(parts) + '"'


def merge(text, message):
    """Take what a text says into a message."""
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            if not re.fullmatch(r"\s*(#[^\n]*\s*)*", text[at:]):
                raise ValueError(f"this is no text of a message: {text[at : at + 30]!r}")
            break
        tokens.append(found[1])
        at = found.end()
    tokens.reverse()
    _merge(tokens, message, None)
    return message


def _merge(tokens, message, end):
    while tokens:
        word = tokens.pop()
        if word == end:
            return
        if word in ",;":
            continue
        if word not in message._fields:
            raise ValueError(f"{type(message).__name__} has no field {word!r}")
        field = message._fields[word]
        if tokens and tokens[-1] == ":":
            tokens.pop()
        if not tokens:
            raise ValueError(f"the text ends before the value of {word}")
        if field.is_message:
            close = {"{": "}", "<": ">"}.get(tokens.pop())
            part = getattr(message, word)
            _merge(tokens, part.add() if field.repeated else part, close)
            (part[-1] if field.repeated else part)._changed()
        elif tokens[-1] == "[":
            tokens.pop()
            while (one := tokens.pop()) != "]":
                if one != ",":
                    getattr(message, word).append(_read(field, one))
        elif field.repeated:
            getattr(message, word).append(_read(field, _joined(tokens)))
        else:
            setattr(message, word, _read(field, _joined(tokens)))
    if end is not None:
        raise ValueError(f"the text ends within {type(message).__name__}, before {end!r}")


def _joined(tokens):
    """The next value: strings beside each other are one."""
    word = tokens.pop()
    while word[0] in "\"'" and tokens and tokens[-1][0] in "\"'":
        word = word[:-1] + tokens.pop()[1:-1] + word[0]
    return word


def _read(field, word):
    if field.type == "string":
        return _unquoted(field, word)
    if field.type == "bool":
        if word not in ("true", "false", "1", "0", "True", "False"):
            raise ValueError(f"{field.name} must be true or false, but is {word}")
        return word in ("true", "1", "True")
    if hasattr(field.type, "Name"):
        return int(word) if word.lstrip("-").isdigit() else field.type.Value(word)
    try:
        return float(word.rstrip("f")) if field.type in ("float", "double") else int(word, 0)
    except ValueError:
        raise ValueError(f"{field.name} must be a number, but is {word}") from None


def _unquoted(field, word):
    if word[0] not in "\"'":
        raise ValueError(f"{field.name} must stand in quotes, but is {word}")

    def plain(found):
        if found[1]:
            return bytes([int(found[1], 8) & 255])
        letter = found[2].decode()
        return _ESCAPES.get(letter, letter).encode()

    raw = word[1:-1].encode("utf-8", "surrogateescape")
    raw = re.sub(rb"\\(?:([0-7]{1,3})|(.))", plain, raw)
    return raw.decode("utf-8", "surrogateescape")
