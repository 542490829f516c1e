"""Makes modules and functions of tables: see paddle/_tables.py for what stands there."""

import ast
import builtins
import functools
import importlib
import importlib.machinery
import os
import types

import _flotilla as core

from . import _tables
from ._names import names_of
from ._words import renamed, writes_v1


def rows(namespace):
    """Put the functions of a module's table into ``namespace``, its globals; returns their names."""
    path = os.path.splitext(namespace["__file__"])[0] + _tables.SUFFIX
    found = {}
    for entry in _tables.read(path):
        if isinstance(entry, _tables.Row):
            found[entry.name] = _function(namespace, path, entry)
        elif entry.module is None:
            found[entry.name] = found[entry.other]
        else:
            home = importlib.import_module(entry.module)
            if entry.name == "*":
                found.update((name, getattr(home, name)) for name in _public(home))
            else:
                found[entry.name] = getattr(home, entry.other)
    namespace.update(found)
    return list(found)


def _public(module):
    """The names that a module offers."""
    offered = getattr(module, "__all__", None)
    return [name for name in vars(module) if name[0] != "_"] if offered is None else offered


class TableModules:
    """Finds the modules that are a table alone, for ``sys.meta_path``; they load themselves."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        leaf = name.rpartition(".")[2] + _tables.SUFFIX
        for folder in path or () if name.startswith("paddle.") else ():
            file = os.path.join(folder, leaf)
            if os.path.isfile(file):
                return importlib.machinery.ModuleSpec(name, TableModules, origin=file)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.__file__ = module.__spec__.origin
        module.__doc__ = _tables.heading(module.__file__)
        module.__getattr__, module.__dir__ = names_of(module.__name__)
        module.__builtins__ = builtins  # what the core imports, it imports for the row's function
        module.__all__ = rows(vars(module))


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
