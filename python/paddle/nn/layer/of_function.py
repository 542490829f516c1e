"""Layers that rows of tables make: see paddle/_tables.py for what stands there."""

import re

from paddle._rows import value_of
from paddle._tables import words
from paddle.nn.initializer import Constant

from .layers import Layer

__all__ = []


class OfFunction(Layer):
    """A function of variables; the other arguments that it is called with are attributes."""

    def __init__(self, **arguments):
        super().__init__()
        vars(self).update(arguments)
        for name, extents, first in self._learnt:
            shape = [value_of(extent, arguments) for extent in extents]
            start = Constant(float(value_of(first, arguments))) if first else None
            attr = arguments.get(f"{name}_attr")
            made = self.create_parameter(shape, attr, None, name == "bias", start)
            setattr(self, name, made)

    def __getattr__(self, name):
        """Paddle's layers keep arguments under the function's words, most with a line in front."""
        word = name.removeprefix("_")
        word = self._taken.get(word, {"ksize": "kernel_size"}.get(word, word))
        if word != name and (word in vars(self) or word in vars(self).get("_parameters", ())):
            return getattr(self, word)
        return super().__getattr__(name)

    def _handed(self):
        """What the function gets besides the variables."""
        taken = ((word, getattr(self, name)) for word, name in self._taken.items())
        return {**self._fixed, **dict(taken)}

    def extra_repr(self):
        """The arguments."""
        if self._shown is not None:
            return self._shown.format(**vars(self))
        kept = [(word, getattr(self, word)) for word in self._arguments]
        return ", ".join(f"{word}={value}" for word, value in kept if word != "name" or value)


def described(arguments, words_of_function, unused, row):
    """The members of a row's class: what its parts say."""
    learnt, shown, used = [], None, {*unused}
    for option in row.options:
        found = re.fullmatch(r"(\w+) \[(.*)\](?: = (.+))?", option)
        if found:
            learnt.append((found[1], words(found[2]), found[3]))
            used |= {*learnt[-1][1], found[3], f"{found[1]}_attr"}
        elif option.startswith("shows"):
            shown = option.removeprefix("shows").lstrip()
    known = {*arguments, *(name for name, *_ in learnt), "training"}.difference(unused)
    taken = {word: word for word in words_of_function if word in known} | row.given
    for argument in arguments:
        if argument not in used.union(taken.values()):
            raise ValueError(f"nothing takes the argument {argument} of the row of {row.name}")
    return {
        "_arguments": arguments,
        "_learnt": learnt,
        "_taken": {word: name for word, name in taken.items() if name in known},
        "_fixed": {word: value_of(text, {}) for word, text in taken.items() if text not in known},
        "_shown": shown,
    }
