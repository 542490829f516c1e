"""Mixed precision in the API of 1.8: accepted, but training runs in single precision."""

from paddle._names import names_of
from paddle.static.amp import AutoMixedPrecisionLists, decorate  # noqa: F401

from . import decorator  # noqa: F401

__all__ = ["AutoMixedPrecisionLists", "decorate"]

__getattr__, __dir__ = names_of(__name__)
