"""Training on several processes."""

from paddle._names import names_of
from paddle.base.dataset import InMemoryDataset, QueueDataset  # noqa: F401

from .parallel import (  # noqa: F401
    ParallelEnv,
    barrier,
    destroy_process_group,
    get_backend,
    get_rank,
    get_world_size,
    init_parallel_env,
    is_available,
    is_initialized,
)

__getattr__, __dir__ = names_of(__name__, ["fleet", "launch", "parallel"])
