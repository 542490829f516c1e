"""Static programs: what 2.x calls them."""

from paddle._names import names_of
from paddle._rows import rows

rows(globals())


__getattr__, __dir__ = names_of(__name__, ["amp", "nn"])
