"""Tools of the fleets of 1.8."""

from paddle._names import names_of

__getattr__, __dir__ = names_of(__name__, ["fleet_barrier_util", "fleet_util", "fs", "hdfs"])
