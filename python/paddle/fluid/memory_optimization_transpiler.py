"""fluid.transpiler.memory_optimization_transpiler where it was before 0.13."""

from paddle._names import names_of

from .transpiler import memory_optimize, release_memory  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
