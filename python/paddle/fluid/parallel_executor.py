"""The executor of the oldest programs."""

from paddle._names import names_of
from paddle.base.compiler import (  # noqa: F401
    BuildStrategy,
    ExecutionStrategy,
    ParallelExecutor,
)

__getattr__, __dir__ = names_of(__name__)
