"""``fleet.util``: small things that processes of a job do together."""

import numpy as np

import _flotilla as core
from paddle._words import of_kind

_MODES = ("sum", "min", "max")
_WORLDS = ("worker", "server", "all")


class UtilBase:
    """Exchange of small values, and division of files."""

    def __init__(self):
        self.role_maker = None
        self.dist_strategy = None

    def _set_role_maker(self, role_maker):
        self.role_maker = role_maker

    def _set_strategy(self, dist_strategy):
        self.dist_strategy = dist_strategy

    def _known_role(self):
        if self.role_maker is None:
            raise RuntimeError("fleet.util needs to know who this process is: call fleet.init()")
        return self.role_maker

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """The sum, least or greatest of every worker's ``input``, element by element."""
        if mode not in _MODES:
            raise ValueError(f"mode must be sum, min or max, but is {mode!r}")
        _check_world(comm_world)
        value = self._known_role()._all_reduce(np.asarray(input), mode, comm_world)
        return value if np.ndim(input) else value.item()

    def all_gather(self, input, comm_world="worker"):
        """A list of every worker's ``input``, in the order of ranks."""
        _check_world(comm_world)
        return self._known_role()._all_gather(input, comm_world)

    def barrier(self, comm_world="worker"):
        """Wait until every worker is here."""
        _check_world(comm_world)
        self._known_role()._barrier(comm_world)

    def get_file_shard(self, files):
        """This worker's part of a list of files: a block, the remainder to the first workers."""
        of_kind(files, list, "files must be a list of names, but is")
        role = self._known_role()
        begin, end = core.file_block(len(files), role._worker_index(), role._worker_num())
        return files[begin:end]

    def print_on_rank(self, message, rank_id):
        """Print ``message`` on the worker with this rank alone."""
        if self._known_role()._worker_index() == rank_id:
            print(message)


def _check_world(comm_world):
    if comm_world not in _WORLDS:
        raise ValueError(f"comm_world must be worker, server or all, but is {comm_world!r}")
