"""The operators and methods of variables: ``x + 1``, ``x[0]``, ``x.sum()``."""

import _flotilla as core
from paddle.base.framework import Variable

from . import (
    attribute,
    creation,
    linalg,
    logic,
    manipulation,
    math,
    ops,
    search,
    stat,
)


def _operator(type):
    return lambda self, other: core.binary(type, self, other)


def _reverse(type):
    return lambda self, other: core.binary(type, other, self)


def _equality(type, of_none):
    """No variable is None, and no program needs an operator to find that out."""
    return lambda self, other: of_none if other is None else core.binary(type, self, other)


def _bits(type):
    def method(self, *other):
        if "float" in str(self.dtype):
            raise TypeError(
                f"& | ^ ~ combine variables of type bool or of integers, but this is {self.dtype}"
            )
        return core.op(type, {"X": self, **({"Y": other[0]} if other else {})})

    return method


def _iterate(self):
    """The slices along the first axis."""
    if self.shape[0] < 0:
        raise TypeError(f'the first extent of "{self.name}" is not known before the program runs')
    return (self[i] for i in range(self.shape[0]))


_WORDS = {
    "add": "elementwise_add",
    "sub": "elementwise_sub",
    "mul": "elementwise_mul",
    "truediv": "elementwise_div",
    "floordiv": "elementwise_floordiv",
    "mod": "elementwise_mod",
    "pow": "elementwise_pow",
}
for _word, _type in _WORDS.items():
    setattr(Variable, f"__{_word}__", _operator(_type))
    setattr(Variable, f"__r{_word}__", _reverse(_type))
for _word, _type in {
    "lt": "less_than",
    "le": "less_equal",
    "gt": "greater_than",
    "ge": "greater_equal",
}.items():
    setattr(Variable, f"__{_word}__", _operator(_type))

Variable.__eq__ = _equality("equal", of_none=False)
Variable.__ne__ = _equality("not_equal", of_none=True)
Variable.__div__, Variable.__rdiv__ = Variable.__truediv__, Variable.__rtruediv__
Variable.__hash__ = object.__hash__
Variable.__matmul__ = linalg.matmul
Variable.__neg__ = lambda self: core.negative(self)
Variable.__abs__ = lambda self: ops.abs(self)
Variable.__getitem__ = lambda self, index: core.getitem(self, index)
Variable.__setitem__ = lambda self, index, value: core.setitem(self, index, value, True)
Variable.__iter__ = _iterate
Variable.__and__ = _bits("bitwise_and")
Variable.__or__ = _bits("bitwise_or")
Variable.__xor__ = _bits("bitwise_xor")
Variable.__invert__ = _bits("bitwise_not")
# numpy leaves `array + x` to the variable.
Variable.__array_ufunc__ = None


def _astype(self, dtype):
    """The elements as another type."""
    return manipulation.cast(self, dtype)


def _detach(self):
    """A copy that no gradient goes through."""
    made = creation.assign(self)
    made.stop_gradient = True
    return made


def _transposed(self):
    """The axes in reverse order."""
    return manipulation.transpose(self, list(range(self.ndim))[::-1])


Variable.astype = _astype
Variable.detach = _detach
Variable.T = property(_transposed)
Variable.cpu = lambda self: self

_NOT_METHODS = {
    *("arange", "assign", "diag", "empty", "empty_like", "eye", "full", "full_like", "linspace"),
    *("logspace", "meshgrid", "ones", "ones_like", "shape", "to_tensor", "tril_indices"),
    *("triu_indices", "zeros", "zeros_like"),
}
for _module in (ops, math, manipulation, linalg, logic, search, stat, attribute, creation):
    for _word in set(_module.__all__) - _NOT_METHODS:
        setattr(Variable, _word, getattr(_module, _word))
