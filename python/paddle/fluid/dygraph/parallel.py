"""Who this process is among the workers."""

from paddle._names import names_of
from paddle.distributed.parallel import ParallelEnv

__all__ = ["Env", "ParallelEnv"]

Env = ParallelEnv

__getattr__, __dir__ = names_of(__name__)
