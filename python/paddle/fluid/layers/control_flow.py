"""Comparisons, counters and blocks in the words of 1.x."""

import _flotilla as core
from paddle._names import names_of
from paddle._words import named
from paddle.static.debug import Print as _print
from paddle.static.nn.control_flow import case, cond, switch_case, while_loop

__all__ = [
    "Print",
    "Switch",
    "While",
    "case",
    "cond",
    "equal",
    "greater_equal",
    "greater_than",
    "increment",
    "less_equal",
    "less_than",
    "not_equal",
    "switch_case",
    "while_loop",
]


def Print(
    input,
    first_n=-1,
    message=None,
    summarize=20,
    print_tensor_name=True,
    print_tensor_type=True,
    print_tensor_shape=True,
    print_tensor_lod=True,
    print_phase="both",
):
    """``input`` again; each run, or the ``first_n``, writes what it holds to standard output."""
    shown = (print_tensor_name, print_tensor_type, print_tensor_shape, True, print_tensor_lod)
    return _print(input, first_n, message, summarize, *shown, print_phase)


class While:
    """A loop: what is appended inside ``block()`` runs as long as ``cond`` is true.

    >>> loop = fluid.layers.While(cond=fluid.layers.less_than(i, n))
    >>> with loop.block():
    ...     fluid.layers.increment(i)
    ...     fluid.layers.less_than(i, n, cond=cond)
    """

    def __init__(self, cond, is_test=False, name=None):
        self._block = core.while_block(cond, is_test)

    def block(self):
        """The body, for a ``with``; it must change the condition."""
        return self._block


class Switch(core.Switch):
    """Branches of which the first true one runs.

    >>> with fluid.layers.Switch() as switch:
    ...     with switch.case(step < warmup):
    ...         fluid.layers.assign(small, rate)
    ...     with switch.default():
    ...         fluid.layers.assign(large, rate)
    """

    def __init__(self, name=None):
        super().__init__()


def increment(x, value=1.0, in_place=True):
    """Add ``value`` to ``x``, a tensor of one element, in place or to a new one."""
    return core.op("increment", {"X": x}, {"step": float(value)}, out=x if in_place else None)


def _compared(word, sign):
    def function(x, y, cond=None):
        return core.op(word, {"X": x, "Y": y}, out=cond, stop_gradient=True)

    doc = f"Whether x {sign} y, element by element, written to ``cond`` if given."
    return named(function, word, doc)


equal = _compared("equal", "==")
not_equal = _compared("not_equal", "!=")
less_equal = _compared("less_equal", "<=")
greater_than = _compared("greater_than", ">")
greater_equal = _compared("greater_equal", ">=")


def less_than(x, y, force_cpu=None, cond=None):
    """Whether x < y, element by element, written to ``cond`` if given."""
    return core.op("less_than", {"X": x, "Y": y}, out=cond, stop_gradient=True)


__getattr__, __dir__ = names_of(__name__)
