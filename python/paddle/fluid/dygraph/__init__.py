"""What static programs take from here: who this process is among the workers."""

from paddle._names import names_of

from .parallel import Env, ParallelEnv  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["parallel"])
