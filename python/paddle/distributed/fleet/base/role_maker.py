"""Who this process is in a job. What a role maker knows is a value of the C++ core."""

import numpy as np

import _flotilla as core
from paddle._names import did_you_mean
from paddle._words import named
from paddle.base import state
from paddle.distributed import communication

_REDUCTIONS = {"sum": np.sum, "min": np.min, "max": np.max}


class Role:
    """Kinds of processes."""

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


def asks(word, name=None, doc=None):
    """A method that asks the role for ``word``."""

    def ask(self):
        found = getattr(self._role(), word)
        return found() if callable(found) else found

    return named(ask, name or word, doc)


class Who:
    """What a process asks the role that it has: who it is, and who else is there."""

    is_worker = asks("is_worker", doc="Whether this process trains.")
    is_server = asks("is_server", doc="Whether this process keeps parameters.")
    is_first_worker = asks("is_first_worker", doc="Whether this is worker 0.")
    worker_index = asks("index", "worker_index", "The rank of this worker.")
    worker_num = asks("workers", "worker_num", "How many workers there are.")
    server_index = asks("index", "server_index", "The number of this server.")
    server_num = asks("servers", "server_num", "How many servers there are.")

    def worker_endpoints(self, to_string=False):
        """Where workers are: a list, or one text with commas."""
        endpoints = self._role().worker_endpoints
        return ",".join(endpoints) if to_string else endpoints

    def server_endpoints(self, to_string=False):
        """Where servers are: a list, or one text with commas."""
        endpoints = self._role().server_endpoints
        return ",".join(endpoints) if to_string else endpoints


class RoleMakerBase:
    """A role: read once, when it is first asked for."""

    _made = None

    def _role(self):
        """The role as the core knows it."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self):
        raise NotImplementedError(f"{type(self).__name__} does not say who this process is")

    def _generate_role(self):
        """Read the role now; a contradictory one is refused."""
        self._role()

    _is_worker = asks("is_worker")
    _is_server = asks("is_server")
    _is_first_worker = asks("is_first_worker")
    _worker_index = _server_index = _role_id = asks("index")
    _worker_num = asks("workers")
    _server_num = asks("servers")
    _node_num = _get_node_num = asks("nodes")
    _get_local_rank = asks("local_rank")
    _get_local_device_ids = asks("local_devices")
    _get_world_device_ids = asks("world_devices")
    _get_trainer_endpoints = asks("worker_endpoints")
    _get_trainer_endpoint = asks("endpoint")
    _get_pserver_endpoints = asks("server_endpoints")

    def _is_heter_worker(self):
        return self._role().kind == Role.HETER_WORKER

    def _is_coordinator(self):
        return self._role().kind == Role.COORDINATOR

    def _is_non_distributed(self):
        return not self._role().distributed

    def _all_gather(self, input, comm_world="worker"):
        if not self._role().servers:
            return communication.gather_values(input)
        everybody = core.fleet.gather_of_servers(state.to_bytes(input))
        return [state.from_bytes(one, "a worker") for one in everybody]

    def _all_reduce(self, input, mode="sum", comm_world="worker"):
        result = np.array(input, order="C")
        if self._role().servers:
            return _REDUCTIONS[mode](np.stack(self._all_gather(result)), axis=0).astype(
                result.dtype
            )
        core.fleet.all_reduce(result, result.dtype.name, mode, 0)
        return result

    def _barrier(self, comm_world):
        core.fleet.barrier_worker()

    def to_string(self):
        """One line on the role."""
        return str(self._role())


class PaddleCloudRoleMaker(RoleMakerBase):
    """The role that the environment variables of a launcher give to this process."""

    def __init__(self, is_collective=False, **kwargs):
        self._is_collective = is_collective
        self._kwargs = kwargs

    def _make(self):
        return core.role_from_environment(self._is_collective)


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """The role that a program says: ``current_id``, ``role``, ``worker_num`` or
    ``worker_endpoints``, and ``server_endpoints``."""

    _source = "UserDefinedRoleMaker"

    def __init__(self, is_collective=False, init_gloo=False, **kwargs):
        super().__init__(is_collective, init_gloo=init_gloo, **kwargs)

    def _make(self):
        known = ("current_id", "role", "worker_num", "worker_endpoints", "server_endpoints")
        for word in self._kwargs:
            if word not in (*known, "init_gloo", "path"):
                hint = did_you_mean(word, known)
                raise TypeError(f"UserDefinedRoleMaker does not take {word}.{hint}")
        endpoints = list(self._kwargs.get("worker_endpoints") or [])
        return core.Role(
            collective=self._is_collective,
            kind=self._kwargs.get("role", Role.WORKER),
            index=self._kwargs.get("current_id", 0),
            workers=self._kwargs.get("worker_num", 0) or len(endpoints),
            worker_endpoints=endpoints,
            server_endpoints=list(self._kwargs.get("server_endpoints") or []),
            source=self._source,
        )
