"""Loaders under their names of 1.8."""

from paddle._names import names_of
from paddle.io import DataLoader  # noqa: F401
from paddle.io.collate import default_collate_fn  # noqa: F401
from paddle.io.generator import GeneratorLoader, PyReader  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
