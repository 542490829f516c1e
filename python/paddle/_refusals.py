"""Wrong argument types in one sentence.

The C++ core refuses arguments that do not fit with a list of its own signatures. Here that becomes
what the user called, which argument is wrong, what was expected and what was found.
"""

import collections.abc
import functools
import os
import re
import sys

import _flotilla as core

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_CLASSES = (
    *("Block", "Fleet", "GradClip", "Initializer", "LoDTensor", "Optimizer", "ParamAttr"),
    *("Program", "Regularizer", "Row", "Scope"),
)
_NUMBERS = {"int": "a whole number", "float": "a number", "bool": "True or False"}
_WORDS = {**_NUMBERS, "str": "a string", "bytes": "bytes", "list": "a list", "dict": "a dict"}


def speak_plainly():
    """Wrap the functions of the core, and the methods of classes whose arguments users write."""
    modules = [core, core.lr]
    for owner in [*modules, *(getattr(core, name) for name in _CLASSES)]:
        for name, value in list(vars(owner).items()):
            if type(value).__name__ in ("nb_func", "nb_method"):
                setattr(owner, name, _plain(value))


def _plain(function):
    return functools.update_wrapper(core.Plain(function, _explain), function)


def _explain(function, said, args, kwargs):
    """What to say instead of ``said``, or None."""
    if "incompatible function arguments" in said:
        return _sentence(said, args, kwargs)
    if re.match(r"'\w+' object (is not|cannot be) ", said):  # which call was it?
        return f"{_name_of(_called(sys._getframe()))}(): {said}"
    return None


def _sentence(message, args, kwargs):
    signatures = re.findall(r"^ *\d+\. \w+\((.*)\) -> ", message, re.MULTILINE)
    found = [_wrong(_parameters(_with_bars(one)), args, kwargs) for one in signatures]
    frame = _called(sys._getframe(1))
    what = _name_of(frame)
    if len(found) != 1 or found[0] is None:
        given = [*map(_shown, args), *(f"{k}={_shown(v)}" for k, v in kwargs.items())]
        return f"{what}() does not take ({', '.join(given)})"
    word, expected, value = found[0]
    words = frame.f_locals
    if "bind" in words:  # a row with names of other eras
        words = {**dict(zip(words["bind"].__code__.co_varnames, words["args"])), **words["kwargs"]}
    here = [name for name, one in words.items() if one is value and value is not None]
    said = f"{what}(): {here[0] if here else word} must be {expected}, but is {_shown(value)}"
    if "Variable" not in expected or not (
        isinstance(value, core.LoDTensor) or hasattr(value, "__array__")
    ):
        return said
    return (
        f"{said}: declare it with paddle.static.data, build the program with it, and feed the values "
        "to Executor.run"
    )


def _called(frame):
    """The function of ours that the user called."""
    while frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(_FOLDER):
        frame = frame.f_back
    return frame


def _name_of(frame):
    name, self = frame.f_code.co_name, frame.f_locals.get("self")
    if name in ("_explain", "call") and "function" in frame.f_locals:  # or of @also
        return frame.f_locals["function"].__name__
    return type(self).__name__ if name in ("__init__", "_make", "_set", "_keep") else name


def _with_bars(signature):
    """Types as Python 3.10 and later show them: `X | None` instead of `typing.Optional[X]`."""
    head = re.search(r"typing\.(Optional|Union)\[", signature)
    if head is None:
        return signature
    end, depth = head.end(), 1
    while depth > 0:
        depth += {"[": 1, "]": -1}.get(signature[end], 0)
        end += 1
    kinds = _split(signature[head.end() : end - 1]) + ["None"] * (head.group(1) == "Optional")
    return _with_bars(signature[: head.start()] + " | ".join(kinds) + signature[end:])


def _split(text):
    """The parts of `text` between commas that no bracket holds."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text + ","):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return parts


def _parameters(signature):
    """[(name, type, whether it may be left out)] of a signature as the core prints it."""
    named = [part.partition(":") for part in _split(signature) if part not in ("", "*", "/")]
    return [
        (word.strip(), rest.partition(" = ")[0].strip(), " = " in rest) for word, _, rest in named
    ]


def _wrong(parameters, args, kwargs):
    """(argument, what is expected, its value) of the first argument that does not fit."""
    values = {**dict(zip((word for word, _, _ in parameters), args)), **kwargs}
    for word, type, _ in parameters:
        if word in values and not _fits(values[word], type):
            return word, _described(type), values[word]
    return None


def _fits(value, type):
    if type in ("", "object") or " | " in type:
        return type in ("", "object") or any(_fits(value, one) for one in type.split(" | "))
    if type == "None":
        return value is None
    if type in _NUMBERS:
        kinds = {"int": ("__index__",), "float": ("__index__", "__float__"), "bool": ()}[type]
        return isinstance(value, bool) or any(hasattr(value, kind) for kind in kinds)
    if type in _WORDS:
        return value.__class__.__name__ == type or isinstance(value, {"str": str}.get(type, ()))
    listed = re.match(r"(?:collections\.abc\.Sequence|list|tuple)\[(.*)\]$", type)
    if listed:
        kinds = [one.strip() for one in listed.group(1).split(",")]
        if isinstance(value, str) or not isinstance(value, collections.abc.Iterable):
            return False
        items = list(value)
        if type.startswith("tuple"):
            return len(items) == len(kinds) and all(map(_fits, items, kinds))
        return all(_fits(item, kinds[0]) for item in items)
    named = getattr(core, type.rpartition(".")[2], None)
    return named is None or isinstance(value, named)


def _described(type):
    if " | " in type:
        return " or ".join(_described(one) for one in type.split(" | "))
    listed = re.match(r"(?:collections\.abc\.Sequence|list|tuple)\[(.*)\]$", type)
    if listed:
        kinds = [one.strip() for one in listed.group(1).split(",")]
        count = f"{len(kinds)} " if type.startswith("tuple") else ""
        return f"a list of {count}{_plural(kinds[0])}"
    return "None" if type == "None" else _WORDS.get(type) or f"a {type.rpartition('.')[2]}"


def _plural(type):
    return {"int": "whole numbers", "float": "numbers", "str": "strings"}.get(type, type + "s")


def _shown(value):
    """A value and its type, in few characters."""
    if value is None:
        return "None"
    text = repr(value)
    text = text if len(text) <= 40 and "\n" not in text else "..."
    return f"{text} of type {type(value).__name__}"


speak_plainly()
