"""What 2.x keeps here until it is settled."""

from paddle._names import names_of

from .optimizer import LookAhead, ModelAverage  # noqa: F401

__all__ = ["LookAhead", "ModelAverage"]

__getattr__, __dir__ = names_of(__name__, ["optimizer"])
