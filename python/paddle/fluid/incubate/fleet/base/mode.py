"""Kinds of fleets."""

from paddle._names import names_of

from .fleet_base import Mode  # noqa: F401

__all__ = ["Mode"]

__getattr__, __dir__ = names_of(__name__)
