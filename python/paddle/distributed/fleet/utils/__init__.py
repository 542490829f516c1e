"""Helpers of fleet."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["ps_util"])
