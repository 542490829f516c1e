"""Training with parameter servers, in the API of 1.8."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["distribute_transpiler", "mode", "pslib"])
