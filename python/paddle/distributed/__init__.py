"""Training on several processes."""

from paddle._names import names_of
from paddle.base.dataset import InMemoryDataset, QueueDataset  # noqa: F401

from .communication import (  # noqa: F401
    Group,
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    alltoall,
    barrier,
    broadcast,
    broadcast_object_list,
    get_group,
    irecv,
    isend,
    new_group,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    wait,
)
from .entry_attr import CountFilterEntry, ProbabilityEntry, ShowClickEntry  # noqa: F401
from .parallel import (  # noqa: F401
    ParallelEnv,
    destroy_process_group,
    get_backend,
    get_rank,
    get_world_size,
    init_parallel_env,
    is_available,
    is_initialized,
)
from .spawn import spawn  # noqa: F401

__getattr__, __dir__ = names_of(
    __name__, ["communication", "entry_attr", "fleet", "launch", "parallel", "transpiler"]
)
