"""Programs of workers without servers, under their names of 2.x."""

from paddle._names import names_of
from paddle.fluid.transpiler.collective import (  # noqa: F401
    Collective,
    GradAllReduce,
    LocalSGD,
)

__getattr__, __dir__ = names_of(__name__)
