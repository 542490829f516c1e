"""Programs for the processes of a job, as 1.x divided them before there was a fleet."""

from paddle._names import names_of

from .distribute_transpiler import (  # noqa: F401
    DistributeTranspiler,
    DistributeTranspilerConfig,
    settings_of,
)
from .inference_transpiler import InferenceTranspiler  # noqa: F401
from .memory_optimization_transpiler import memory_optimize, release_memory  # noqa: F401
from .ps_dispatcher import HashName, RoundRobin  # noqa: F401

__all__ = [
    *("DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "InferenceTranspiler"),
    *("RoundRobin", "memory_optimize", "release_memory"),
]

__getattr__, __dir__ = names_of(
    __name__,
    [
        *("collective", "details", "distribute_transpiler", "geo_sgd_transpiler"),
        *("inference_transpiler", "memory_optimization_transpiler", "ps_dispatcher"),
    ],
)
