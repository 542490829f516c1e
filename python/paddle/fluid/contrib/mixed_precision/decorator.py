"""The optimizers of mixed precision."""

from paddle._names import names_of
from paddle.static.amp import OptimizerWithMixedPrecision, decorate  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
