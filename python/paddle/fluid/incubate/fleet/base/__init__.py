"""What the fleets of 1.8 share."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["fleet_base", "mode", "role_maker"])
