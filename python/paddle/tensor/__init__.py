"""Functions of variables, and the operators and methods of variables."""

from paddle import linalg as _matrices
from paddle._rows import rows

from . import methods
from .creation import fill_constant  # noqa: F401

__all__ = rows(globals())
methods.attach({word: globals()[word] for word in __all__})
methods.attach({word: getattr(_matrices, word) for word in ("matrix_power", "multi_dot", "qr")})
