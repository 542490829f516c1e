"""What all eras of the API share: programs, executors, places, element types."""

from paddle._names import names_of
from paddle._rows import rows

from . import core, dtype, executor, framework, interrupts  # noqa: F401

rows(globals())

__getattr__, __dir__ = names_of(__name__)
