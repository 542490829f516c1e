"""Kinds of parameter servers and of training with them."""

from paddle._names import names_of

from .distribute_transpiler.distributed_strategy import DistributedMode  # noqa: F401


class PSMode:
    """Kinds of parameter servers."""

    TRANSPILER = 1
    PSLIB = 2


__getattr__, __dir__ = names_of(__name__)
