"""Programs for the processes of a job, as 1.x divided them before there was a fleet."""

import _flotilla as core
from paddle.base.compiler import Options
from paddle.base.framework import Program, default_main_program, default_startup_program
from paddle.distributed.fleet.base import fleet_base as _fleet
from paddle.distributed.fleet.base.role_maker import Role

from .ps_dispatcher import HashName, RoundRobin  # noqa: F401

__all__ = ["DistributeTranspiler", "DistributeTranspilerConfig"]


class DistributeTranspilerConfig(Options):
    """How a program is divided: ``mode`` is "pserver", "nccl2" or "collective", of which
    ``collective_mode`` is "grad_allreduce" or "local_sgd"."""

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

    _word = "setting"

    def __setattr__(self, name, value):
        kept = {**vars(self), name: value}
        if kept["sync_mode"] and kept["runtime_split_send_recv"]:
            raise ValueError(
                "runtime_split_send_recv is for asynchronous training: set sync_mode to False first"
            )
        super().__setattr__(name, value)


_SETTINGS = (
    *("sync_mode", "runtime_split_send_recv", "half_async", "completely_not_async"),
    *("geo_sgd_mode", "geo_sgd_need_push_nums"),
)


def settings_of(config, communicator):
    """What the core makes programs by, from a DistributeTranspilerConfig."""
    made = core.TranspilerSettings()
    for name in _SETTINGS:
        setattr(made, name, getattr(config, name))
    made.communicator = communicator
    return made


class DistributeTranspiler:
    """Makes the programs of workers and servers of a program for one process.

    Every process calls :meth:`transpile`; then a worker runs the program of
    :meth:`get_trainer_program`, and a server that of :meth:`get_pserver_program`, which ends when
    all workers are done.
    """

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
        self._with_servers = self.config.mode == "pserver"
        endpoints = [] if self._with_servers else str(trainers).split(",")
        self._role_words = dict(
            collective=not self._with_servers,
            workers=trainers if self._with_servers else len(endpoints),
            worker_endpoints=[] if endpoints == ["1"] else endpoints,
            server_endpoints=pservers.split(",") if self._with_servers else [],
            source="DistributeTranspiler",
        )
        if not sync_mode and self.config.sync_mode:
            self.config.sync_mode = False
        self._trainer_id = trainer_id
        self._divided = False
        self._trainer_program = program or default_main_program()
        self._startup_program = startup_program or default_startup_program()
        if not self._with_servers:
            self._divide()

    def _divide(self):
        """Make the programs those of this worker. With servers that waits for
        get_trainer_program(), which a server does not call."""
        if self._divided:
            return
        self._divided = True
        role = self._role(kind=Role.WORKER, index=self._trainer_id)
        if not role.distributed:
            return
        core.fleet.init(role)
        _fleet.distribute(role, self._trainer_program, self._startup_program, self)

    def _role(self, **words):
        return core.Role(**words, **self._role_words)

    def _transpiler_settings(self):
        return settings_of(self.config, {})

    @property
    def _core(self):
        """The strategy of a job without servers."""
        strategy = core.FluidStrategy()
        if self.config.collective_mode:
            strategy.set("collective_mode", self.config.collective_mode)
        return strategy

    def get_trainer_program(self, wait_port=True):
        """The program of this worker."""
        self._check("get_trainer_program")
        self._divide()
        return self._trainer_program

    def get_pserver_program(self, endpoint):
        """The program of the server at ``endpoint``; running it serves until all workers are
        done."""
        role = self._server_role("get_pserver_program", endpoint)
        program = Program()
        core.fleet.serve_by(program, role)
        return program

    def get_pserver_programs(self, endpoint):
        """The program of the server at ``endpoint``, and its startup program."""
        program = self.get_pserver_program(endpoint)
        return program, self.get_startup_program(endpoint, program)

    def get_startup_program(self, endpoint, pserver_program=None, startup_program=None):
        """The startup program of the server at ``endpoint``: an empty one, since the first worker
        makes the tables."""
        self._server_role("get_startup_program", endpoint)
        return Program()

    def _server_role(self, word, endpoint):
        self._check(word)
        endpoints = self._role_words["server_endpoints"]
        if endpoint not in endpoints:
            raise ValueError(f"{word}(): {endpoint!r} is not one of the servers {endpoints}")
        return self._role(kind=Role.SERVER, index=endpoints.index(endpoint))

    def _check(self, word):
        if self._trainer_program is None:
            raise RuntimeError(f"call transpile() before {word}()")
