"""What all eras of the API share: programs, executors, places, element types."""

from paddle._rows import rows

from . import core, dtype, executor, framework, interrupts  # noqa: F401

rows(globals())
