"""Scopes: where variables live between runs."""

import contextlib

import _flotilla as core
from paddle._words import of_kind

Scope = core.Scope

_current = [Scope()]


def global_scope():
    """The scope that runs use unless they name another."""
    return _current[-1]


@contextlib.contextmanager
def scope_guard(scope):
    """Make ``scope`` the global scope inside the ``with`` block."""
    _current.append(of_kind(scope, Scope, "scope must be a paddle.static.Scope, but is"))
    try:
        yield
    finally:
        _current.pop()


def _switch_scope(scope):
    """Make ``scope`` the global scope from now on, and return the one before."""
    before, _current[-1] = _current[-1], scope
    return before
