"""What is said of a name that is not here, whether it is an attribute or is imported."""

import importlib
import sys

import _flotilla as core


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


class MissingModules:
    """Stands last on ``sys.meta_path``: ``import paddle.amp`` hears what ``paddle.amp`` does."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, leaf = name.rpartition(".")
        if package == "paddle" or package.startswith("paddle."):
            raise MissingModule(package, leaf)


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
    near = core.nearest(name, known) if module in sys.modules else ""
    return f'{module} has no "{name}".' + (f" Did you mean {module}.{near}?" if near else "")


def names_of(module, submodules=()):
    """The functions ``__getattr__`` and ``__dir__`` of a module.

    ``submodules`` are imported when they are asked for. Any other name is refused, with what to do
    instead or with the nearest one that exists.
    """
    submodules = frozenset(submodules)

    def known():
        return sorted({*vars(sys.modules[module]), *submodules})

    def find(name):
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise MissingName(module, name)

    return find, known
