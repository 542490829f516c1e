"""Makes functions and classes of tables: see paddle/_tables.py for what stands there."""

import ast
import functools
import importlib
import inspect
import os
import types

import _flotilla as core

from . import _tables
from ._words import renamed, writes_v1


def rows(namespace):
    """Put what a module's table makes into ``namespace``, its globals; returns the names that it
    offers."""
    path = os.path.splitext(namespace["__file__"])[0] + _tables.SUFFIX
    names = []
    for entry in _tables.read(path):
        if isinstance(entry, _tables.Row):
            found = {entry.name: _function(namespace, path, entry)}
        elif isinstance(entry, _tables.Class):
            found = {entry.name: _class(namespace, path, entry)}
        elif entry.module is None:
            found = {entry.name: namespace[entry.other]}
        else:
            home = importlib.import_module(entry.module)
            public = {name: name for name in _public(home)} if entry.name == "*" else {}
            wanted = public or {entry.name: entry.other}
            found = {name: getattr(home, other) for name, other in wanted.items()}
        namespace.update(found)
        names += found if getattr(entry, "offered", True) else ()
    return names


def _public(module):
    """The names that a module offers."""
    offered = getattr(module, "__all__", None)
    return [name for name in vars(module) if name[0] != "_"] if offered is None else offered


# Most defaults are one of a few.
_value = functools.cache(ast.literal_eval)


def _signature(entry):
    """The names of an entry's parameters, and their defaults."""
    names = tuple(name for name, _ in entry.parameters)
    return names, tuple(_value(default) for _, default in entry.parameters if default)


def _made(namespace, path, entry, code, name, parameters=None, **around):
    """The function that ``code`` of a template is, as if the table were where it is written."""
    code = code.replace(
        **{"co_varnames": parameters} if parameters else {},
        **{"co_name": name, "co_filename": path, "co_firstlineno": entry.line},
    )
    cells = tuple(types.CellType(around[one]) for one in code.co_freevars)
    function = types.FunctionType(code, namespace, name, None, cells)
    function.__qualname__ = name if name == entry.name else f"{entry.name}.{name}"
    return function


def _function(namespace, path, entry):
    kept = [one for one in entry.options if one != "v1" and not one.startswith("also ")]
    names, defaults = _signature(entry)
    target = namespace["__name__"] + entry.target if entry.target[0] == "." else entry.target
    row = core.Row(entry.name, list(names), "; ".join([target, *kept]))
    made = functools.partial(_made, namespace, path, entry)

    code = _templates(len(names))
    others = _others(entry.options)
    if others:
        bind = made(code["bound"], entry.name, names)
        bind.__defaults__ = defaults
        function = made(
            code["renaming"], entry.name, row=row, bind=bind, others=others, renamed=renamed
        )
        function.__wrapped__, function._also = bind, others
    else:
        function = made(code["call"], entry.name, names, row=row)
        function.__defaults__ = defaults
    function.__doc__, function._row = entry.doc or row.doc, row
    return writes_v1(function) if "v1" in entry.options else function


def _class(namespace, path, entry):
    """A class that begins as the one above it, with the arguments and what the row adds."""
    (names, defaults), unused = _signature(entry), _of(entry.options, "unused ")
    made = functools.partial(_made, namespace, path, entry)
    members = {"__doc__": entry.doc, "__module__": namespace["__name__"]}
    if entry.variables:
        from .nn.layer.of_function import OfFunction as base
        from .nn.layer.of_function import described

        function = _found(namespace, entry.target, "paddle.nn.functional")
        words, theirs = _words_of(function, len(entry.variables))
        if names == ("...",):
            names, defaults = words, theirs
        forward = _templates(len(entry.variables))["forward"]
        forward = made(forward, "forward", ("self", *entry.variables), function=function)
        forward.__doc__ = "What the function gives."
        members |= described(names, words, unused, entry)
        members |= {"forward": forward, "__doc__": entry.doc or function.__doc__}
        sources = {name: name for name in names}
    else:
        base = _found(namespace, entry.target)
        apart = {*unused, *entry.given.values()}
        sources = {name: name for name in names if name not in apart} | entry.given

    def kept(*values):
        values = dict(zip(names, values))
        return {word: value_of(text, values) for word, text in sources.items()}

    start = _templates(len(names))["start"]
    start = made(start, "__init__", ("self", *names), begin=base.__init__, kept=kept)
    start.__defaults__ = defaults
    return type(entry.name, (base,), {"__init__": start, **members})


def _found(namespace, name, otherwise=None):
    """What a row names: of the module, or of ``otherwise`` where it says none."""
    module, _, name = name.rpartition(".")
    if not (module or otherwise):
        return namespace[name]
    return getattr(importlib.import_module(module or otherwise), name)


def _words_of(function, variables):
    """The names of a function's parameters behind the variables, and their defaults."""
    function = inspect.unwrap(function)
    code = function.__code__
    return code.co_varnames[variables : code.co_argcount], function.__defaults__ or ()


def value_of(text, values):
    """The value of that name, or the literal that stands there."""
    return values[text] if text in values else _value(text)


def _of(options, kind):
    """The words behind those options that begin with ``kind``."""
    found = [option[len(kind) :] for option in options if option.startswith(kind)]
    return [word for text in found for word in _tables.words(text)]


def _others(options):
    """From an argument's name in another era to its name here."""
    return dict(pair.split("=") for pair in _of(options, "also "))


@functools.cache
def _templates(count):
    """By name the code of functions of so many arguments: one that calls ``row``, one that gives what
    it was called with, one that calls ``row`` with what that gives, under whichever names, one that
    makes an object of a class, and one that calls a layer."""
    words = "".join(f"a{i}, " for i in range(count))
    made = {}
    exec(
        compile(
            "def around(row, bind, others, renamed, begin, kept, function):\n"
            f" def call({words}): return row({words})\n"
            f" def bound({words}): return [{words}]\n"
            " def renaming(*args, **kwargs):"
            " return row(*bind(*args, **renamed(bind, others, kwargs)))\n"
            f" def start(self, {words}): begin(self, **kept({words}))\n"
            f" def forward(self, {words}): return function({words}**self._handed())\n"
            " return call, bound, renaming, start, forward",
            __file__,
            "exec",
        ),
        made,
    )
    return {one.__name__: one.__code__ for one in made["around"](*[None] * 7)}
