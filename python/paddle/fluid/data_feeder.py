"""From samples in Python to what a run is fed."""

from paddle._names import names_of
from paddle.base.data_feeder import DataFeeder  # noqa: F401
from paddle.base.dtype import convert_dtype  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
