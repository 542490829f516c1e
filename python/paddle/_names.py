"""What a module says of a name that it does not have."""

import importlib
import sys

import _flotilla as core


class _Nameless:
    def __dir__(self):
        return []


# Where Python looks for a hint of its own, which would stand behind ours.
_NAMELESS = _Nameless()


def names_of(module, submodules=()):
    """The functions ``__getattr__`` and ``__dir__`` of a module.

    ``submodules`` are imported when they are asked for. Any other name is refused with the nearest
    one that exists.
    """
    submodules = frozenset(submodules)

    def known():
        return sorted({*vars(sys.modules[module]), *submodules})

    def find(name):
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        near = core.nearest(name, [one for one in known() if not one.startswith("_")])
        hint = f" Did you mean {module}.{near}?" if near else ""
        error = AttributeError(f"{module}.{name} is not there yet.{hint}")
        error.name, error.obj = name, _NAMELESS
        raise error

    return find, known
