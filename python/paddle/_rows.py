"""Makes the functions of a module's table: see paddle/_tables.py for what stands there."""

import ast
import functools
import importlib
import types

import _flotilla as core

from . import _tables
from ._words import renamed, writes_v1


def rows(namespace):
    """Put the functions of a module's table into ``namespace``, its globals; returns their names."""
    path = namespace["__file__"][: -len("py")] + "api"
    names = []
    for entry in _tables.read(path):
        if isinstance(entry, _tables.Row):
            made = _function(namespace, path, entry)
        elif entry.module:
            made = getattr(importlib.import_module(entry.module), entry.other)
        else:
            made = namespace[entry.other]
        namespace[entry.name] = made
        names.append(entry.name)
    return names


# Most defaults are one of a few.
_value = functools.cache(ast.literal_eval)


def _function(namespace, path, entry):
    kept = [one for one in entry.options if one != "v1" and not one.startswith("also ")]
    names = tuple(name for name, _ in entry.parameters)
    defaults = tuple(_value(default) for _, default in entry.parameters if default)
    target = namespace["__name__"] + entry.target if entry.target[0] == "." else entry.target
    row = core.Row(entry.name, list(names), "; ".join([target, *kept]))

    def made(code, **around):
        code = code.replace(co_name=entry.name, co_filename=path, co_firstlineno=entry.line)
        if hasattr(code, "co_qualname"):
            code = code.replace(co_qualname=entry.name)
        cells = tuple(types.CellType(around[one]) for one in code.co_freevars)
        return types.FunctionType(code, namespace, entry.name, None, cells)

    call, bind, call_renamed = _templates(len(names))
    others = _others(entry.options)
    if others:
        bind = made(bind.replace(co_varnames=names))
        bind.__defaults__ = defaults
        function = made(call_renamed, row=row, bind=bind, others=others, renamed=renamed)
        function.__wrapped__, function._also = bind, others
    else:
        function = made(call.replace(co_varnames=names), row=row)
        function.__defaults__ = defaults
    function.__doc__, function._row = entry.doc or row.doc, row
    return writes_v1(function) if "v1" in entry.options else function


def _others(options):
    """From an argument's name in another era to its name here."""
    words = [one[len("also ") :] for one in options if one.startswith("also ")]
    return dict(pair.strip().split("=") for one in words for pair in one.split(","))


@functools.cache
def _templates(count):
    """The code of functions of so many arguments: one that calls ``row``, one that gives what it was
    called with, and one that calls ``row`` with what that gives, under whichever names."""
    words = ", ".join(f"a{i}" for i in range(count))
    made = {}
    exec(
        compile(
            "def around(row, bind, others, renamed):\n"
            f" def call({words}): return row({words})\n"
            f" def bound({words}): return [{words}]\n"
            " def renaming(*args, **kwargs):"
            " return row(*bind(*args, **renamed(bind, others, kwargs)))\n"
            " return call, bound, renaming",
            __file__,
            "exec",
        ),
        made,
    )
    return [function.__code__ for function in made["around"](*[None] * 4)]
