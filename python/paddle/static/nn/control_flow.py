"""Blocks that run if, or as long as, a variable is true. Gradients flow through both."""

import _flotilla as core
from paddle._words import several

__all__ = ["case", "cond", "switch_case", "while_loop"]


class _Structure:
    """What functions return is nested, and flat for the core; the first one's form is kept."""

    def __init__(self):
        self._shown = []

    def flat(self, function):
        """The function, but it returns a flat list."""
        return function and (lambda: self._keep(function()))

    def flat_pairs(self, expected, pairs):
        """The same for pairs that end in a function."""
        for pair in pairs:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[1]):
                raise TypeError(f"{expected}, but is {pair!r}")
        return [(first, self.flat(function)) for first, function in pairs]

    def _keep(self, value):
        self._shown.append(value)
        return _flat(value)

    def filled(self, flat):
        """The first value that a function returned, with these variables in it."""
        return _like(self._shown[0], iter(flat)) if self._shown else None


def _flat(value):
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in _flat(part)]
    return [] if value is None else [value]


def _like(value, flat):
    """``value`` with its variables taken from the iterator ``flat``."""
    if isinstance(value, dict):
        filled = {key: _like(value[key], flat) for key in sorted(value)}
        return {key: filled[key] for key in value}
    if isinstance(value, (list, tuple)):
        filled = [_like(part, flat) for part in value]
        return filled if isinstance(value, list) else tuple(filled)
    return None if value is None else next(flat)


def cond(pred, true_fn=None, false_fn=None, name=None, return_names=None):
    """What ``true_fn()`` returns if ``pred`` is true, and what ``false_fn()`` returns if not.

    Only one of them runs. Both return variables of the same structure, or nothing.

    >>> static.nn.cond(x < y, lambda: x + 1, lambda: y)
    """
    for word, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise TypeError(f"{word} must be a function, but is of type {type(function).__name__}")
    shown = _Structure()
    return shown.filled(core.cond(pred, shown.flat(true_fn), shown.flat(false_fn)))


def case(pred_fn_pairs, default=None, name=None):
    """What the function of the first true condition returns; else that of ``default``.

    Without a default the last function stands in for it.
    """
    if not isinstance(pred_fn_pairs, (list, tuple)) or not pred_fn_pairs:
        raise TypeError("pred_fn_pairs must be a list of pairs of a condition and a function")
    shown = _Structure()
    pairs = shown.flat_pairs("a pair of case is a condition and a function", pred_fn_pairs)
    return shown.filled(core.case(pairs, shown.flat(default)))


def switch_case(branch_index, branch_fns, default=None, name=None):
    """What the function with the number ``branch_index`` returns; else that of ``default``.

    ``branch_fns``: functions, pairs of a number and a function, or a dict. Without a default the
    function with the largest number stands in for it.
    """
    named = branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns)
    pairs = [one if isinstance(one, (list, tuple)) else (n, one) for n, one in named]
    shown = _Structure()
    pairs = shown.flat_pairs("a pair of switch_case is a number and a function", pairs)
    return shown.filled(core.switch_case(branch_index, pairs, shown.flat(default)))


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """Run ``loop_vars = body(*loop_vars)`` as long as ``cond(*loop_vars)`` is true.

    Returns the variables of the last run; their shapes and dtypes stay as they are.

    >>> static.nn.while_loop(lambda i: i < 10, lambda i: [i + 1], [paddle.full([1], 0, "int64")])
    """
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body of while_loop must be functions")
    loop_vars = several(loop_vars)
    core.while_loop(
        lambda: cond(*loop_vars), lambda: _flat(body(*loop_vars)), _flat(loop_vars), is_test
    )
    return loop_vars


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
