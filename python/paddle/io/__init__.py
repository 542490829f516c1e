"""Datasets and loaders."""

from paddle._names import names_of
from paddle.batch import batch  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
