"""Text and numbers as Python 2 and 3 agree on them, and a report on what a program uses.

    python -m paddle.compat report train.py    which names of Paddle it uses, and which are here
    python -m paddle.compat table              docs/compatibility.md
"""

import math


__all__ = [
    *("floor_division", "get_exception_message", "long_type", "round", "to_bytes", "to_text"),
]

int_type = long_type = int


def to_text(obj, encoding="utf-8", inplace=False):
    """Bytes, also inside a list, a set or a dict, as text. ``inplace`` changes ``obj`` itself."""
    return _converted(
        obj, lambda one: one.decode(encoding) if isinstance(one, bytes) else one, inplace
    )


def to_bytes(obj, encoding="utf-8", inplace=False):
    """Text, also inside a list or a set, as bytes. ``inplace`` changes ``obj`` itself."""
    return _converted(
        obj, lambda one: one.encode(encoding) if isinstance(one, str) else one, inplace
    )


def _converted(obj, convert, inplace):
    if isinstance(obj, dict):
        made = {
            _converted(k, convert, False): _converted(v, convert, False) for k, v in obj.items()
        }
    elif isinstance(obj, (list, set)):
        made = type(obj)(_converted(one, convert, False) for one in obj)
    else:
        return convert(obj)
    if not inplace:
        return made
    obj.clear()
    (obj.extend if isinstance(obj, list) else obj.update)(made)
    return obj


def round(x, d=0):
    """Round to ``d`` digits; halves are rounded away from zero."""
    scale = 10**d
    return math.copysign(math.floor(abs(x) * scale + 0.5) / scale, x) if x else x


def floor_division(x, y):
    """``x // y``."""
    return x // y


def get_exception_message(exc):
    """The message of an exception."""
    return str(exc)
