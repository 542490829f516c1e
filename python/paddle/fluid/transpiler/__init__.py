"""Programs for the processes of a job, as 1.x divided them before there was a fleet."""

from paddle._names import names_of

from .distribute_transpiler import (  # noqa: F401
    DistributeTranspiler,
    DistributeTranspilerConfig,
    settings_of,
)
from .ps_dispatcher import HashName, RoundRobin  # noqa: F401

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "RoundRobin"]


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Nothing is left to do: every plan reuses memory."""


def release_memory(input_program, skip_opt_set=None):
    """Nothing is left to do: every plan reuses memory."""


__getattr__, __dir__ = names_of(
    __name__, ["details", "distribute_transpiler", "geo_sgd_transpiler", "ps_dispatcher"]
)
