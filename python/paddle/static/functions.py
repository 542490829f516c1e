"""Functions of Python inside of programs."""

import _flotilla as core
from paddle._words import several

_functions = []  # by number; programs name functions by it


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """``out``, one variable or several that the caller made, from what ``func`` gives for ``x``.

    ``func`` takes the values of ``x`` and gives as many arrays as ``out`` has; None where ``out`` is
    None. ``backward_func`` takes ``x``, ``out`` and the gradients of ``out``, less those that
    ``skip_vars_in_backward_input`` names, and gives the gradients of ``x``; without it gradients
    stop here.
    """
    if not callable(func):
        raise TypeError(f"func must be a function, but is {func!r}")
    inputs, outs = several(x), several(out)
    skipped = [one.name for one in several(skip_vars_in_backward_input)]
    known = {one.name for one in inputs + outs}
    for name in skipped:
        if name not in known:
            raise ValueError(f"{name!r} is to be skipped, but is neither in x nor in out")
    core.main_program().current_block().append_op(
        type="py_func",
        inputs={"X": inputs},
        outputs={"Out": outs},
        attrs={
            "forward_callable_id": _register(func),
            "backward_callable_id": -1 if backward_func is None else _register(backward_func),
            "backward_skip_vars": skipped,
        },
    )
    return out


def _register(function):
    _functions.append(function)
    return len(_functions) - 1


def _call(number, values):
    """What the core calls while a program runs."""
    if not 0 <= number < len(_functions):
        raise ValueError(
            f"the program calls function {number}, which py_func has not made in this process"
        )
    return several(_functions[number](*values))


core.use_python_functions(_call)
