"""Rank and size of the job, as the environment of this process says."""

from operator import attrgetter

import _flotilla as core
from paddle.distributed import communication


class ParallelEnv:
    """What the environment says of this process among the workers of its job."""

    def __init__(self):
        self._role = core.data_role_from_environment()

    rank = local_rank = property(attrgetter("_role.index"), doc="The rank of this worker.")
    world_size = nranks = property(attrgetter("_role.workers"), doc="How many workers there are.")
    current_endpoint = property(attrgetter("_role.endpoint"), doc="Where this worker is.")
    trainer_endpoints = property(attrgetter("_role.worker_endpoints"), doc="Where all workers are.")
    device_type = property(lambda self: "", doc="Empty: the place says which kind of device it is.")
    nrings = property(lambda self: 1, doc="How many rings collectives have.")
    pg_timeout = property(
        lambda self: 1800000,
        doc="Milliseconds after which Paddle gives up; Flotilla waits for processes that live.",
    )

    @property
    def device_id(self):
        """The device of this worker."""
        return int(self._role.local_devices[0]) if self._role.local_devices else 0

    dev_id = device_id


def init_parallel_env():
    """Wait for all workers of the job; one worker has nobody to wait for."""
    return communication.get_group()


def is_initialized():
    """Whether this worker has met the others."""
    return core.fleet.met() > 0


def is_available():
    """Whether this package can train on several processes."""
    return True


def destroy_process_group(group=None):
    """The opposite of :func:`init_parallel_env`."""
    communication.forget_groups()


def get_backend(group=None):
    """What carries collectives."""
    return "GLOO"


def get_rank(group=None):
    """The rank of this worker, in the job or in a group."""
    return ParallelEnv().rank if group is None else communication.find_group(group).rank


def get_world_size(group=None):
    """How many workers there are, in the job or in a group."""
    return ParallelEnv().nranks if group is None else communication.find_group(group).nranks
