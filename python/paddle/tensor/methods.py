"""The operators and methods of variables: ``x + 1``, ``x[0]``, ``x.sum()``."""

import _flotilla as core
from paddle._words import named
from paddle.base.framework import Variable

from . import creation, linalg, manipulation, ops, stat


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


def _element_size(self):
    """How many bytes an element takes."""
    return self.dtype.dtype.itemsize


def _refused(word):
    """Draws numbers in place, which no release does in static programs."""

    def method(self, *args, **kwargs):
        raise RuntimeError(
            f'{word}() draws numbers into a tensor, but "{self.name}" is a variable of a program and '
            "is not changed in place; draw a new one, such as paddle.uniform(x.shape)"
        )

    return named(method, word, "Refused: a variable of a program is not changed in place.")


Variable.astype = _astype
Variable.detach = _detach
Variable.T = property(_transposed)
Variable.cpu = Variable.cuda = lambda self, *args, **kwargs: self
Variable.size = stat.numel
Variable.element_size = _element_size
for _word in ("uniform_", "normal_", "cauchy_", "geometric_"):
    setattr(Variable, _word, _refused(_word))

# What takes no variable first.
_NOT_METHODS = {
    *("arange", "assign", "crop", "einsum", "empty", "empty_like", "eye", "finfo", "full"),
    *("full_like", "gaussian", "iinfo", "linspace", "logspace", "meshgrid", "normal", "ones"),
    *("ones_like", "rand", "randint", "randn", "randperm", "searchsorted", "shape"),
    *("standard_normal", "to_tensor", "tril_indices", "triu_indices", "uniform", "zeros"),
    "zeros_like",
}


def attach(functions):
    """Make methods of functions by name: the variable is their first argument."""
    for word in functions.keys() - _NOT_METHODS:
        setattr(Variable, word, functions[word])
