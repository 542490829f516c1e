"""Training on several processes."""

from paddle._names import names_of
from paddle._rows import rows

rows(globals())


__getattr__, __dir__ = names_of(
    __name__, ["communication", "entry_attr", "fleet", "launch", "parallel", "transpiler"]
)
