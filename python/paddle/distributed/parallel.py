"""Rank and size of the job, as the environment of this process says."""

import _flotilla as core
from paddle.distributed import communication


class ParallelEnv:
    """What the environment says of this process among the workers of its job."""

    def __init__(self):
        self._role = core.data_role_from_environment()

    @property
    def rank(self):
        """The rank of this worker."""
        return self._role.index

    @property
    def world_size(self):
        """How many workers there are."""
        return self._role.workers

    @property
    def device_id(self):
        """The device of this worker."""
        return int(self._role.local_devices[0]) if self._role.local_devices else 0

    @property
    def device_type(self):
        """The kind of device; empty, as there is no other kind than the place says."""
        return ""

    @property
    def current_endpoint(self):
        """Where this worker is."""
        return self._role.endpoint

    @property
    def trainer_endpoints(self):
        """Where all workers are."""
        return self._role.worker_endpoints

    @property
    def nrings(self):
        """How many rings collectives have."""
        return 1

    @property
    def pg_timeout(self):
        """Milliseconds after which Paddle gives up; Flotilla waits for processes that live."""
        return 1800000

    local_rank = rank
    nranks = world_size
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
    return (
        core.data_role_from_environment().index
        if group is None
        else communication.find_group(group).rank
    )


def get_world_size(group=None):
    """How many workers there are, in the job or in a group."""
    return (
        core.data_role_from_environment().workers
        if group is None
        else communication.find_group(group).nranks
    )
