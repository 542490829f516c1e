"""Layers with parameters, as functions."""

from paddle._names import names_of
from paddle._rows import rows

rows(globals())

__getattr__, __dir__ = names_of(__name__, ["sequence_lod"])
