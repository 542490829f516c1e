"""Programs of workers and servers, under their names of 2.x."""

from paddle._names import names_of
from paddle.fluid.transpiler.distribute_transpiler import (  # noqa: F401
    DistributeTranspiler,
    DistributeTranspilerConfig,
)

__getattr__, __dir__ = names_of(__name__)
