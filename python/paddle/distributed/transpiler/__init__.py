"""fluid.transpiler under its name of 2.x."""

from paddle._names import names_of
from paddle.fluid.transpiler import (  # noqa: F401
    DistributeTranspiler,
    DistributeTranspilerConfig,
    HashName,
    RoundRobin,
)

__getattr__, __dir__ = names_of(__name__, ["collective", "distribute_transpiler"])
