"""Functions of sequences in the words of 1.x."""

from paddle._names import names_of
from paddle.static.nn.sequence_lod import *  # noqa: F403
from paddle.static.nn.sequence_lod import __all__  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
