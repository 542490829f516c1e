"""The role makers of 1.8: those of 2.x under public names."""

from paddle.distributed.fleet.base import role_maker as _roles


class Role:
    """Kinds of processes."""

    WORKER = 1
    SERVER = 2


class RoleMakerBase(_roles.RoleMakerBase):
    """A role: read once, when it is first asked for."""

    generate_role = _roles.RoleMakerBase._generate_role
    is_worker = _roles.RoleMakerBase._is_worker
    is_server = _roles.RoleMakerBase._is_server
    is_first_worker = _roles.RoleMakerBase._is_first_worker
    worker_index = _roles.RoleMakerBase._worker_index
    server_index = _roles.RoleMakerBase._server_index
    worker_num = _roles.RoleMakerBase._worker_num
    server_num = _roles.RoleMakerBase._server_num
    get_trainer_endpoints = _roles.RoleMakerBase._get_trainer_endpoints
    get_pserver_endpoints = _roles.RoleMakerBase._get_pserver_endpoints

    def _all_reduce(self, input, output=None, mode="sum", comm_world="worker"):
        """The sum, least or greatest of every worker's ``input``, also written to ``output``.
        2.x calls it with ``mode`` in the second place."""
        if isinstance(output, str):
            output, mode = None, output
        result = super()._all_reduce(input, mode)
        if output is not None:
            output[...] = result
        return result

    def all_gather(self, input):
        """A list of every worker's ``input``."""
        return self._all_gather(input)

    def all_reduce_worker(self, input, output, mode="sum"):
        """Write the sum, least or greatest of every worker's ``input`` to ``output``."""
        self._all_reduce(input, output, mode)

    def barrier_worker(self):
        """Wait until every worker is here."""
        self._barrier("worker")

    def barrier_all(self):
        """Wait until every process is here."""
        self._barrier("all")

    _barrier_worker, _barrier_all = barrier_worker, barrier_all


class PaddleCloudRoleMaker(RoleMakerBase):
    """The role that the environment variables of a launcher give to this process."""

    def __init__(self, is_collective=False):
        self._is_collective = is_collective

    _make = _roles.PaddleCloudRoleMaker._make


class UserDefinedRoleMaker(RoleMakerBase):
    """A role given by the program, in a job with servers."""

    _is_collective = False
    _source = "UserDefinedRoleMaker"
    _make = _roles.UserDefinedRoleMaker._make

    def __init__(self, current_id=0, role=Role.WORKER, worker_num=0, server_endpoints=None):
        self._kwargs = {"current_id": current_id, "role": role, "worker_num": worker_num}
        self._kwargs["server_endpoints"] = server_endpoints


class UserDefinedCollectiveRoleMaker(RoleMakerBase):
    """A role given by the program, in a collective job."""

    _is_collective = True
    _source = "UserDefinedCollectiveRoleMaker"
    _make = _roles.UserDefinedRoleMaker._make

    def __init__(self, current_id=0, worker_endpoints=None):
        self._kwargs = {"current_id": current_id, "worker_endpoints": worker_endpoints}


class GeneralRoleMaker(PaddleCloudRoleMaker):
    """The role that a launcher gives to this process; how processes find each other is ours."""

    def __init__(self, **kwargs):
        super().__init__(is_collective=False)
        self._kwargs = kwargs


class MPISymetricRoleMaker(PaddleCloudRoleMaker):
    """The role that a launcher gives to this process; MPI is not asked."""

    def __init__(self):
        super().__init__(is_collective=False)
