"""Scopes one inside the other, for programs that do not pass them on."""

from paddle.base.scope import Scope, _switch_scope, global_scope

__all__ = [
    *("enter_local_scope", "find_var", "get_cur_scope", "leave_local_scope", "scoped_function"),
    "var",
]

_outer = []


def get_cur_scope():
    """The scope that is in use."""
    return global_scope()


def enter_local_scope():
    """Go on with a new scope."""
    _outer.append(_switch_scope(Scope()))


def leave_local_scope():
    """Go back to the scope before."""
    _switch_scope(_outer.pop())


def var(name):
    """A variable of the scope, made if it is missing."""
    return get_cur_scope().var(name)


def find_var(name):
    """A variable of the scope or of those around it, or None."""
    found = (scope.find_var(name) for scope in [get_cur_scope(), *reversed(_outer)])
    return next((one for one in found if one is not None), None)


def scoped_function(func):
    """What ``func()`` returns, called with a new scope."""
    enter_local_scope()
    try:
        return func()
    finally:
        leave_local_scope()
