"""How the modules of paddle are found and loaded, for ``sys.meta_path``: files of Python, tables
alone (see _tables.py), and what is not there."""

import builtins
import importlib.machinery
import os

from . import _tables
from ._names import MissingModule, names_of
from ._rows import rows


class _Source(importlib.machinery.SourceFileLoader):
    """Loads a file of Python."""

    def exec_module(self, module):
        module.__getattr__, module.__dir__ = names_of(module.__name__)
        super().exec_module(module)


class _Table:
    """Loads a table."""

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


class Modules:
    """Stands first: each module answers for the names that it lacks."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("paddle."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Source(name, spec.origin)
            return spec
        for folder in path or ():
            place = os.path.join(folder, name.rpartition(".")[2])
            for start in (place, os.path.join(place, "__init__")):
                if os.path.isfile(start + _tables.SUFFIX):
                    spec = importlib.machinery.ModuleSpec(
                        name, _Table, origin=start + _tables.SUFFIX
                    )
                    spec.submodule_search_locations = None if start == place else [place]
                    return spec
        return None


class MissingModules:
    """Stands last: ``import paddle.amp`` hears what ``paddle.amp`` does."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, leaf = name.rpartition(".")
        if package == "paddle" or package.startswith("paddle."):
            raise MissingModule(package, leaf)
