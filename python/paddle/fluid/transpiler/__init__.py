"""Programs for the processes of a job, as 1.x divided them before there was a fleet."""

import zlib

import _flotilla as core
from paddle._names import names_of
from paddle.base.framework import default_main_program, default_startup_program
from paddle.distributed.fleet.base import fleet_base as _fleet

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig", "HashName", "RoundRobin"]


class _Dispatcher:
    """Says which server keeps a variable."""

    def __init__(self, pserver_endpoints):
        self._eps = list(pserver_endpoints)
        self.reset()

    @property
    def eps(self):
        return self._eps

    def reset(self):
        self._step = 0


class RoundRobin(_Dispatcher):
    """One server after the other."""

    def dispatch(self, varlist):
        first, self._step = self._step, self._step + len(varlist)
        return [self._eps[(first + i) % len(self._eps)] for i in range(len(varlist))]


class HashName(_Dispatcher):
    """The server that the name of the variable leads to."""

    def dispatch(self, varlist):
        names = [one if isinstance(one, str) else one.name for one in varlist]
        return [self._eps[zlib.crc32(name.encode()) % len(self._eps)] for name in names]


class DistributeTranspilerConfig:
    """How a program is divided: ``mode`` is "pserver", "nccl2", "collective" or "local_sgd"."""

    _defaults = {
        "slice_var_up": True,
        "split_method": None,
        "min_block_size": 8192,
        "enable_dc_asgd": False,
        "mode": "pserver",
        "print_log": False,
        "wait_port": True,
        "half_async": False,
        "completely_not_async": False,
        "geo_sgd_mode": False,
        "geo_sgd_need_push_nums": 100,
        "nccl_comm_num": 1,
        "use_hierarchical_allreduce": False,
        "hierarchical_allreduce_inter_nranks": 0,
        "collective_mode": None,
        "sync_mode": True,
        "runtime_split_send_recv": False,
    }

    def __init__(self):
        vars(self).update(self._defaults)

    def __setattr__(self, name, value):
        if name not in self._defaults:
            near = core.nearest(name, list(self._defaults))
            hint = f" Did you mean {near}?" if near else ""
            raise AttributeError(f"DistributeTranspilerConfig has no setting {name}.{hint}")
        kept = {**vars(self), name: value}
        if kept["sync_mode"] and kept["runtime_split_send_recv"]:
            raise ValueError(
                "runtime_split_send_recv is for training out of step: set sync_mode to False first"
            )
        vars(self)[name] = value


class DistributeTranspiler:
    """Makes the programs of workers and servers of a program for one process."""

    def __init__(self, config=None):
        self.config = config or DistributeTranspilerConfig()
        self._trainer_program = None

    def transpile(
        self,
        trainer_id,
        program=None,
        pservers="127.0.0.1:6174",
        trainers=1,
        sync_mode=True,
        startup_program=None,
        current_endpoint="127.0.0.1:6174",
    ):
        """Divide a program. ``trainers``: how many, or, without servers, where they are."""
        with_servers = self.config.mode == "pserver"
        endpoints = [] if with_servers else str(trainers).split(",")
        role = core.Role(
            collective=not with_servers,
            kind=1,
            index=trainer_id,
            workers=trainers if with_servers else len(endpoints),
            worker_endpoints=[] if endpoints == ["1"] else endpoints,
            server_endpoints=pservers.split(",") if with_servers else [],
            source="DistributeTranspiler",
        )
        _fleet.refuse_servers(role)
        if role.distributed:
            raise RuntimeError(
                f"DistributeTranspiler does not divide a program for {role.workers} trainers: use "
                "paddle.fluid.incubate.fleet.collective"
            )
        self._trainer_program = program or default_main_program()
        self._startup_program = startup_program or default_startup_program()

    def get_trainer_program(self, wait_port=True):
        """The program of this worker."""
        if self._trainer_program is None:
            raise RuntimeError("get_trainer_program() needs transpile() before it")
        return self._trainer_program


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Nothing is left to do: every plan reuses memory."""


def release_memory(input_program, skip_opt_set=None):
    """Nothing is left to do: every plan reuses memory."""


__getattr__, __dir__ = names_of(__name__)
