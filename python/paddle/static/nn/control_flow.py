"""Blocks that run if, or as long as, a variable is true. Gradients flow through both."""

import _flotilla as core
from paddle._words import several
from paddle.base.core import VarDesc
from paddle.base.framework import Variable, default_main_program
from paddle.tensor import assign, cast, equal, full, logical_not

__all__ = ["case", "cond", "switch_case", "while_loop"]


class Block:
    """Ops appended inside the ``with`` go to a block that an op of ``type`` runs.

    The op names what its block reads and writes outside, as Paddle's do.
    """

    _SLOTS = {
        "while": ("Condition", "X", "StepScopes"),
        "conditional_block": ("Cond", "Input", "Scope"),
    }

    def __init__(self, type, condition, attrs):
        _one_bool(type, condition)
        self._type, self._condition, self._attrs = type, condition, attrs

    def __enter__(self):
        self._program = default_main_program()
        self._inner = self._program._create_block()

    def __exit__(self, failed, *_):
        self._program._rollback()
        if failed:
            return
        outer = self._program.current_block()
        reads, writes = _across(self._inner, outer)
        condition, inputs, scope = self._SLOTS[self._type]
        scopes = outer.create_var(name=core.unique_name("scopes"), type=VarDesc.VarType.STEP_SCOPES)
        outer.append_op(
            type=self._type,
            inputs={condition: [self._condition.name], inputs: reads},
            outputs={"Out": writes, scope: [scopes.name]},
            attrs={"sub_block": self._inner, **self._attrs},
        )


def if_block(condition):
    """A block that runs if the condition is true."""
    return Block("conditional_block", condition, {"is_scalar_condition": True})


def while_block(condition, is_test=False):
    """A block that runs as long as the condition is true; it must change the condition."""
    return Block("while", condition, {"is_test": is_test})


def _one_bool(type, condition):
    if not isinstance(condition, Variable):
        kind = condition.__class__.__name__
        raise TypeError(f"the condition of {type} must be a variable, but is of type {kind}")
    if condition.dtype != "bool" or any(extent != 1 for extent in condition.shape):
        raise ValueError(
            f"the condition of {type} must be one bool, but {condition.name} is "
            f"{condition.dtype_name}{list(condition.shape)}"
        )


def _across(inner, outer):
    """The names of outer variables that a block reads, and of those that it writes."""
    reads, writes = {}, {}
    for op in inner.ops:
        outside = [n for n in op.input_arg_names if not inner.has_var(n) and n not in writes]
        reads.update(dict.fromkeys(outside))
        changed = [n for n in op.output_arg_names if not inner.has_var(n)]
        writes.update(dict.fromkeys(n for n in changed if outer._find_recursive(n) is not None))
    return list(reads), list(writes)


# ---- structures: what a branch returns may be nested


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


def _variable(value):
    """Numbers become constants."""
    if isinstance(value, Variable):
        return value
    kind = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"
    return full([1], value, kind)


# ---- branches


def _branch(condition, function):
    """Append a branch. What its function returns, and variables outside that hold it."""
    with if_block(condition):
        shown = function()
        values = [_variable(value) for value in _flat(shown)]
        results = [_beside(value) for value in values]
        for value, result in zip(values, results):
            _write(value, result)
    return shown, results


def _chosen(which, results):
    """The one of some variables that the variable ``which`` names."""
    first = results[0]
    block = default_main_program().current_block()
    chosen = block.create_var(
        name=core.unique_name("select_input"),
        shape=first.shape,
        dtype=first.dtype,
        stop_gradient=all(one.stop_gradient for one in results),
    )
    block.append_op(
        type="select_input",
        inputs={"X": [one.name for one in results], "Mask": [which.name]},
        outputs={"Out": [chosen.name]},
    )
    return chosen


def _write(value, result):
    """Where a gradient would flow into the value, it would into the result."""
    result.stop_gradient = result.stop_gradient and value.stop_gradient
    assign(value, result)


def _beside(value):
    """A variable like ``value`` in the block outside."""
    program = default_main_program()
    outer = program.block(program.current_block().parent_idx)
    return outer.create_var(
        name=core.unique_name("branch"),
        shape=value.shape,
        dtype=value.dtype,
        stop_gradient=value.stop_gradient,
    )


def _check_same(one, other):
    if len(one) != len(other):
        raise ValueError(
            f"all branches must return the same structure, but one returns {len(one)} variables and "
            f"another {len(other)}"
        )
    for first, second in zip(one, other):
        if first.dtype != second.dtype:
            raise TypeError(
                f"all branches must return the same dtypes, but one returns {first.dtype_name} "
                f"where another returns {second.dtype_name}"
            )


def cond(pred, true_fn=None, false_fn=None, name=None, return_names=None):
    """What ``true_fn()`` returns if ``pred`` is true, and what ``false_fn()`` returns if not.

    Only one of them runs. Both return variables of the same structure, or nothing.

    >>> static.nn.cond(x < y, lambda: x + 1, lambda: y)
    """
    for word, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise TypeError(f"{word} must be a function, but is of type {type(function).__name__}")
    shown, taken = _branch(pred, true_fn) if true_fn else (None, [])
    _, other = _branch(logical_not(pred), false_fn) if false_fn else (None, [])
    if (true_fn is None or false_fn is None) and (taken or other):
        raise ValueError("a branch without a counterpart must return nothing")
    _check_same(taken, other)
    if not taken:
        return shown
    which = cast(pred, "int32")
    return _like(shown, iter([_chosen(which, pair) for pair in zip(other, taken)]))


def case(pred_fn_pairs, default=None, name=None):
    """What the function of the first true condition returns; else that of ``default``.

    Without a default the last function stands in for it.
    """
    pairs = _pairs(pred_fn_pairs)
    *pairs, last = pairs if default is None else [*pairs, (None, default)]
    for condition, _ in pairs:
        _one_bool("case", condition)

    def choose(number):
        if number == len(pairs):
            return last[1]()
        return cond(*pairs[number], lambda: choose(number + 1))

    return choose(0)


def _pairs(given):
    if not isinstance(given, (list, tuple)) or not given:
        raise TypeError("pred_fn_pairs must be a list of pairs of a condition and a function")
    for pair in given:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"a pair of case is a condition and a function, but is {pair!r}")
    return list(given)


def switch_case(branch_index, branch_fns, default=None, name=None):
    """What the function with the number ``branch_index`` returns; else that of ``default``.

    ``branch_fns``: functions, pairs of a number and a function, or a dict. Without a default the
    function with the largest number stands in for it.
    """
    named = branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns)
    pairs = [one if isinstance(one, (list, tuple)) else (n, one) for n, one in named]
    numbers = [number for number, _ in pairs]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"the numbers of switch_case must differ, but are {numbers}")
    pairs.sort(key=lambda pair: pair[0])
    if default is None:
        *pairs, (_, default) = pairs
    conditions = [(equal(branch_index, full([1], n, branch_index.dtype_name)), f) for n, f in pairs]
    return case(conditions, default) if conditions else default()


# ---- loops


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """Run ``loop_vars = body(*loop_vars)`` as long as ``cond(*loop_vars)`` is true.

    Returns the variables of the last run; their shapes and dtypes stay as they are.

    >>> static.nn.while_loop(lambda i: i < 10, lambda i: [i + 1], [paddle.full([1], 0, "int64")])
    """
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body of while_loop must be functions")
    loop_vars = list(several(loop_vars))
    if not loop_vars:
        raise ValueError("loop_vars of while_loop must hold a variable")
    condition = cond(*loop_vars)
    with while_block(condition, is_test):
        found = several(body(*loop_vars))
        now, then = _flat(loop_vars), [_variable(one) for one in _flat(found)]
        if len(now) != len(then):
            raise ValueError(
                f"body must return as many variables as loop_vars has, {len(now)}, "
                f"but returns {len(then)}"
            )
        # Through copies, since one variable may be computed from another's old value.
        copies = [one if len(now) == 1 else assign(one) for one in then]
        for new, old in zip(copies, now):
            _write(new, old)
        assign(cond(*loop_vars), condition)
    return loop_vars
