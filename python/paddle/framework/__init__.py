"""Programs, seeds, default types, saving and loading of states."""

from paddle._names import names_of
from paddle._rows import rows
from paddle.base import core, framework  # noqa: F401

rows(globals())


__getattr__, __dir__ = names_of(__name__)
