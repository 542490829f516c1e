"""Programs, seeds, default types, saving and loading of states."""

from paddle._rows import rows
from paddle.base import core, framework  # noqa: F401

rows(globals())
