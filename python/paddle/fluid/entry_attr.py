"""Which ids get a row, in the words of 2.0."""

from paddle._names import names_of
from paddle.distributed.entry_attr import CountFilterEntry, ProbabilityEntry  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
