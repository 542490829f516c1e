"""What is said of a name that is not here, whether it is an attribute or is imported."""

import importlib
import os
import sys

import _flotilla as core

from ._tables import SUFFIX

_SUFFIXES = (".py", SUFFIX)


class _Nameless:
    def __dir__(self):
        return []


# Where Python looks for a hint of its own, which would stand behind ours.
_NAMELESS = _Nameless()


class _Missing:
    """An error that finds its words when somebody reads them: most are only asked whether they
    happen."""

    def __str__(self):
        return _sentence(*self._where)


class MissingName(_Missing, AttributeError):
    """A module has no such attribute."""

    def __init__(self, module, name):
        super().__init__(f"{module}.{name}")
        self.name, self.obj = name, _NAMELESS
        self._where = module, name


class MissingModule(_Missing, ModuleNotFoundError):
    """There is no such module."""

    def __init__(self, module, name):
        super().__init__(f"{module}.{name}")
        self._where = module, name


# What tracebacks call them.
for _kind, _word in ((MissingName, "AttributeError"), (MissingModule, "ModuleNotFoundError")):
    _kind.__qualname__, _kind.__module__ = _word, "builtins"


def _sentence(module, name):
    from paddle.compat import _table  # which imports modules that use this one

    full = f"{module}.{name}"
    if _table.eras(full) or _table.is_module(full) or _table.known_advice(full):
        advice = _table.advice(full)
        said = f"{full} is not implemented"
        if advice == _table.NO_ADVICE:
            return said
        near = advice.partition("nearest: ")[2]
        return f"{said}. The nearest name is {near}" if near else f"{said}: {advice}"
    known = [one for one in dir(sys.modules[module]) if not one.startswith("_")]
    return f'{module} has no "{name}".' + did_you_mean(name, known, module + ".{}")


def did_you_mean(name, known, shown="{}"):
    """What follows where ``name`` is none of those that are known: the nearest one, if one is near."""
    near = core.nearest(name, list(known))
    return f" Did you mean {shown.format(near)}?" if near else ""


def names_of(module, submodules=(), elsewhere=None):
    """The functions ``__getattr__`` and ``__dir__`` of a module.

    What lies in its folder is imported when it is asked for, and so are ``submodules``, and the
    modules of names from ``elsewhere``. Any other name is refused, with what to do instead or with
    the nearest one that exists.
    """
    elsewhere = elsewhere or {}

    def inside():
        folders = vars(sys.modules[module]).get("__path__", ())
        return {*submodules, *(name for folder in folders for name in _modules_in(folder))}

    def known():
        return sorted({*vars(sys.modules[module]), *inside(), *elsewhere})

    def find(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if name in inside():
            return importlib.import_module(f"{module}.{name}")
        if name in elsewhere:
            return getattr(importlib.import_module(elsewhere[name]), name)
        raise MissingName(module, name)

    return find, known


def _modules_in(folder):
    """The names of modules in a folder, without private ones."""
    for entry in os.listdir(folder):
        name, suffix = os.path.splitext(entry)
        if name[0] != "_" and (suffix in _SUFFIXES or _is_package(os.path.join(folder, entry))):
            yield name


def _is_package(place):
    return any(os.path.exists(os.path.join(place, "__init__" + suffix)) for suffix in _SUFFIXES)
