"""What keeps gradients within bounds."""

from paddle._names import names_of
from paddle.base.clip import (  # noqa: F401
    ClipGradBase,
    ClipGradByGlobalNorm,
    ClipGradByNorm,
    ClipGradByValue,
)

__getattr__, __dir__ = names_of(__name__)
