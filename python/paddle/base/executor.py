"""Running programs: Executor, scopes, and how values go in and come out."""

import contextlib

import numpy as np

import _flotilla as core

from .framework import Program, Variable, default_main_program

_generator = core.Generator(int.from_bytes(__import__("os").urandom(7), "little"))
_global_scope = core.Scope()


def seed(value):
    """Start the random numbers of the process anew; the same seed repeats a run."""
    _generator.manual_seed(int(value))
    return _generator


def global_scope():
    """The scope that runs use unless they name another."""
    return _global_scope


@contextlib.contextmanager
def scope_guard(scope):
    """Make ``scope`` the global scope inside the ``with`` block."""
    global _global_scope
    before, _global_scope = _global_scope, scope
    try:
        yield
    finally:
        _global_scope = before


class Scalar(np.ndarray):
    """An array of one element that formats like a number: ``"%.5f" % loss`` works on any numpy."""

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return self.item().__index__()

    def __format__(self, spec):
        return format(self.item(), spec) if spec else str(self)


def _wrap(value):
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.view(Scalar)
    return value


def _as_name(item):
    if isinstance(item, Variable):
        return item.name
    if isinstance(item, str):
        return item
    raise TypeError(
        f"fetch_list takes variables and their names, but holds {type(item).__name__}"
    )


def _as_feed(program, name, value):
    """Lists and numbers become arrays of the variable's dtype; arrays and tensors go in as they are."""
    if isinstance(value, (np.ndarray, core.LoDTensor)):
        return value
    if hasattr(value, "__array__") and not isinstance(value, (int, float)):
        return np.asarray(value)
    variable = program.global_block()._find(name)
    array = np.asarray(value, variable.dtype_name if variable is not None else None)
    return array.reshape(1) if array.ndim == 0 else array


class Executor:
    """Runs programs on a place. Plans are made at the first run and looked up later."""

    def __init__(self, place=None):
        self.place = place
        self._core = core.Executor(_generator)

    def run(
        self,
        program=None,
        feed=None,
        fetch_list=None,
        feed_var_name="feed",
        fetch_var_name="fetch",
        scope=None,
        return_numpy=True,
        use_program_cache=False,
        return_merged=True,
        use_prune=False,
    ):
        """Run ``program`` once and return the values of ``fetch_list`` in order."""
        program = default_main_program() if program is None else program
        program = getattr(program, "_program", program)
        if not isinstance(program, Program):
            raise TypeError(
                f"program must be a paddle.static.Program, but is {type(program).__name__}"
            )
        scope = scope or _global_scope
        feed = _merge(program, feed)
        if fetch_list is None:
            fetch_list = ()
        elif isinstance(fetch_list, (str, Variable)):
            fetch_list = (fetch_list,)
        for set_learning_rate in getattr(program, "_before_run", ()):
            set_learning_rate(scope)
        if use_prune and fetch_list:
            program = program._prune_to(list(feed), [_as_name(item) for item in fetch_list])
        names = [_as_name(item) for item in fetch_list]
        results = self._core.run(program, feed, names, scope, return_numpy)
        return [_wrap(value) for value in results]

    def close(self):
        """Give back what the executor holds. It can be used again afterwards."""
        self._core = core.Executor(_generator)


def _merge(program, feed):
    if feed is None:
        return {}
    if isinstance(feed, (list, tuple)):
        if len(feed) > 1:
            raise ValueError(
                f"feed must be a dict or a list with one dict, but the list holds {len(feed)}: "
                "a program on one place takes one batch at a time"
            )
        feed = feed[0] if feed else {}
    if not isinstance(feed, dict):
        raise TypeError(f"feed must be a dict, but is {type(feed).__name__}")
    return {name: _as_feed(program, name, value) for name, value in feed.items()}
