"""The fleet of 1.8."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["base", "collective", "parameter_server", "utils"])
