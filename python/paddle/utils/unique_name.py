"""Unique names for layers and variables."""

from paddle._names import names_of
from paddle.base.unique_name import generate, guard, switch  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
