"""Compiled programs and their strategies."""

from paddle._names import names_of
from paddle.base.compiler import (  # noqa: F401
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
)

__getattr__, __dir__ = names_of(__name__)
