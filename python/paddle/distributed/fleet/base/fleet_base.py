"""The fleet as this process sees it."""

import os
import warnings

import _flotilla as core
import paddle.fluid.io as _io
from paddle._words import of_kind
from paddle.base.around import AroundOptimizer
from paddle.base.framework import default_main_program
from paddle.base.scope import global_scope, scope_guard
from paddle.static import _vars

from .checkpoint import Checkpoints
from .distributed_strategy import DistributedStrategy
from .role_maker import PaddleCloudRoleMaker, RoleMakerBase, Who, asks
from .util_factory import UtilBase


_BATCH_MODEL = 3  # of pslib: a day's model, which has all rows


def _how(role, strategy):
    """What the core knows a strategy by; in jobs with servers those of 1.8 have settings."""
    settings = getattr(strategy, "_transpiler_settings", None)
    return settings() if settings and not role.collective else strategy._core


def distribute(role, main, startup, strategy):
    """Make the programs of ``minimize`` those of one process of a job."""
    for notice in core.fleet.distribute(main, startup, role, _how(role, strategy)):
        warnings.warn(notice, stacklevel=3)


class DistributedOptimizer(AroundOptimizer):
    """An optimizer of which ``minimize`` makes the program of this process.

    Everything else (``get_lr``, ``set_lr``, ``state_dict``, ``backward`` …) is the optimizer's.
    """

    def __init__(self, optimizer, strategy=None, role_of=None):
        """``role_of``: says when the program is made who this process is."""
        if not hasattr(optimizer, "minimize"):
            raise TypeError(
                f"distributed_optimizer() takes an optimizer, but got {type(optimizer).__name__}"
            )
        super().__init__(optimizer)
        self._strategy = strategy or DistributedStrategy()
        self._role_of = role_of or (lambda: core.role_from_environment(True))
        self.user_defined_optimizer = optimizer

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Add the backward pass, the exchange with other workers or with servers and the update;
        returns (ops, [(parameter, gradient)])."""
        words = (loss, startup_program, parameter_list, no_grad_set)
        role = self._role_of()
        strategy = _how(role, self._strategy)
        made, notices = core.fleet.minimize(self._optimizer.minimize, *words, role, strategy)
        for notice in notices:
            warnings.warn(notice, stacklevel=2)
        return made

    def amp_init(self, place, scope=None, test_program=None, use_fp16_test=False):
        """Nothing to do: parameters stay in single precision."""


class Fleet(Who, Checkpoints):
    """All processes of a job, as this one sees them."""

    node_num = asks("nodes", "node_num", "How many machines have workers.")
    local_rank = asks("local_rank", doc="The rank of this worker on its machine.")
    local_device_ids = asks("local_devices", "local_device_ids", "The devices of this worker.")
    world_device_ids = asks("world_devices", "world_device_ids", "The devices of all workers.")

    def __init__(self):
        self._role_maker = None
        self._is_collective = False
        self._user_defined_strategy = None
        self._distributed_optimizer = None
        self._util = UtilBase()

    @property
    def util(self):
        """Small things that processes do together; see :class:`UtilBase`."""
        return self._util

    def init(self, role_maker=None, is_collective=False, strategy=None, log_level="INFO"):
        """Find out who this process is, from ``role_maker`` or else from the environment, and wait
        for the other workers."""
        if role_maker is None:
            if not isinstance(is_collective, bool):
                raise ValueError(f"is_collective must be True or False, but is {is_collective!r}")
            role_maker = PaddleCloudRoleMaker(is_collective=is_collective)
        said = "role_maker must be a role maker, but is a"
        of_kind(role_maker, RoleMakerBase, said, ValueError)
        strategy = DistributedStrategy() if strategy is None else strategy
        said = "strategy must be a DistributedStrategy, but is a"
        of_kind(strategy, DistributedStrategy, said, ValueError)
        role = role_maker._role()
        core.fleet.init(role)
        self._role_maker = role_maker
        self._is_collective = role.collective
        self._user_defined_strategy = strategy
        self._util._set_role_maker(role_maker)
        self._util._set_strategy(self._user_defined_strategy)
        return self

    def _role(self):
        if self._role_maker is None:
            raise RuntimeError("fleet does not know who this process is: call fleet.init() first")
        return self._role_maker._role()

    def _program(self):
        return default_main_program()

    def is_coordinator(self):
        """Whether this process coordinates federated learning."""
        return self._role_maker is not None and self._role_maker._is_coordinator()

    # ---- the lives of workers and servers

    def barrier_worker(self):
        """Wait until every worker is here."""
        self._role()
        self._util.barrier("worker")

    def all_reduce(self, input, mode="sum"):
        """``fleet.util.all_reduce`` over the workers."""
        self._role()
        return self._util.all_reduce(input, mode)

    def init_worker(self, scopes=None):
        """Connect to the servers: worker 0 gives them the parameters that the startup program has
        made, the others get theirs from there. Before the startup program it says only that; the
        first run connects. A job without servers has nothing to connect to."""
        if self._role().servers:
            core.fleet.init_worker(scopes or global_scope())

    def stop_worker(self):
        """Leave the servers, once they have all that this worker has sent. A job without servers
        has nothing to leave."""
        if self._role().servers:
            core.fleet.stop_worker()

    def init_coordinator(self, scopes=None):
        """Refused: there is no coordinator."""
        raise self._no_servers("init_coordinator")

    def init_server(self, *args, **kwargs):
        """Make the tables that this server keeps, with the values of the folder that is named, if
        one is: one that :meth:`save_persistables` wrote, on any number of servers."""
        folder = kwargs.get("dirname", kwargs.get("model_dir", args[0] if args else None))
        if folder:
            _vars.check_folder("fleet.init_server", folder)
        core.fleet.init_server(self._with_servers("init_server"), os.fspath(folder or ""))

    def run_server(self):
        """Serve until all workers have left."""
        self._with_servers("run_server")
        core.fleet.serve()

    def load_model(self, path, mode):
        """Fill the servers' tables with what :meth:`save_persistables` or
        :meth:`save_inference_model` wrote, in the place of what they hold. What was saved with
        ``mode=2`` goes over what is there: load its base first. The worker that calls it has the
        values when it returns, the others with their next step; in Geo mode, where workers keep
        copies of their own, every worker calls it."""
        self._with_servers("load_model")
        core.fleet.load_model(os.fspath(path), global_scope())

    def load_inference_model(self, path, mode):
        """Refused in a job without servers."""
        raise self._no_servers("load_inference_model")

    def load_one_table(self, table_id, path, mode):
        """On the first worker, fill one table of the servers with what was saved of it."""
        self._with_servers("load_one_table")
        if self.is_first_worker():
            core.fleet.load_model(os.fspath(path), global_scope(), table_id)

    def save_one_table(self, table_id, path, mode):
        """On the first worker, let the servers write one table; ``mode`` as for
        :meth:`save_persistables`."""
        self._with_servers("save_one_table")
        if self.is_first_worker():
            core.fleet.save_tables(os.fspath(path), mode, table_id)

    def shrink(self, threshold=None):
        """On the first worker, count every row of the sparse tables as unseen once more, and drop
        those unseen more than ``threshold`` times; returns how many went."""
        self._with_servers("shrink")
        return core.fleet.shrink(int(threshold or 0)) if self.is_first_worker() else 0

    def _with_servers(self, word):
        role = self._role()
        if not role.servers:
            raise self._no_servers(word)
        return role

    def _no_servers(self, word):
        self._role()
        return RuntimeError(
            f"fleet.{word}() is for jobs with parameter servers, and this job has none: start the "
            "program with fleetrun --server_num and --worker_num"
        )

    # ---- training

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the program of this process."""
        strategy = strategy or self._user_defined_strategy or DistributedStrategy()
        made = DistributedOptimizer(optimizer, strategy, self._role)
        self._user_defined_strategy = strategy
        self._util._set_strategy(strategy)
        self._distributed_optimizer = made
        return made

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """``minimize`` of the optimizer that :meth:`distributed_optimizer` was given."""
        if self._distributed_optimizer is None:
            raise RuntimeError("fleet.minimize() needs fleet.distributed_optimizer() before it")
        return self._distributed_optimizer.minimize(
            loss, startup_program, parameter_list, no_grad_set
        )

    def distributed_model(self, model):
        """``model`` itself: one process trains it alone."""
        self._role()
        return model

    def distributed_scaler(self, scaler):
        """``scaler`` itself: one process scales its loss alone."""
        self._role()
        return scaler

    def amp_init(self, place, scope=None, test_program=None, use_fp16_test=False):
        """Nothing to do: parameters stay in single precision."""

    def _final_strategy(self):
        return self._user_defined_strategy

    # ---- files

    def save_inference_model(
        self,
        executor,
        dirname,
        feeded_var_names,
        target_vars,
        main_program=None,
        export_for_deployment=True,
        mode=0,
    ):
        """Write what ``target_vars`` need of the program. With servers, every worker that calls it
        writes, and tables become parameters of the model; where ids are no rows of a tensor, servers
        write them beside it. Without, the first worker writes, and others that call it wait."""
        if self._role().servers:
            _io._save_inference_model(
                dirname, feeded_var_names, target_vars, main_program, with_tables=True
            )
            return
        self._by_first_worker(
            lambda: _io.save_inference_model(
                dirname, feeded_var_names, target_vars, executor, main_program
            )
        )

    def save_persistables(self, executor, dirname, main_program=None, mode=0):
        """Write all that the program keeps from run to run. With servers, every worker that calls
        it writes, and servers write their tables: with ``mode`` 0 all rows, with 1 too, as the base
        of what follows, with 2 the rows that have changed since the last time it was 1 or 2. Bases
        and what follows them are written by the first worker alone. Without servers, the first
        worker writes, and others that call it wait."""
        if self._role().servers:
            if mode not in (1, 2) or self.is_first_worker():
                mode = 0 if mode == _BATCH_MODEL else mode
                program = _vars.some_program(main_program)
                core.fleet.save_persistables(os.fspath(dirname), program, global_scope(), mode)
            return
        self._by_first_worker(lambda: _io.save_persistables(executor, dirname, main_program))

    def _by_first_worker(self, work):
        """What the first worker does while others that call it wait. It may also call it alone."""
        try:
            if self.is_first_worker():
                work()
        finally:
            core.fleet.after_first()

    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        """Write dense parameters: those of ``var_names``, or all."""
        program = program or default_main_program()
        sparse = (
            {one["name"] for one in core.fleet.tables() if one["sparse"]}
            if self._role().servers
            else ()
        )
        names = [one.name for one in program.all_parameters() if one.name not in sparse]
        chosen = names if var_names is None else list(var_names)
        with scope_guard(scope or global_scope()):
            _io.save_vars(
                executor, dirname, program, [program.global_block().var(n) for n in chosen]
            )

    def save(self, dirname, feed=[], fetch=[], **configs):  # noqa: B006 - the signature is Paddle's
        """Write an inference model where ``feed`` and ``fetch`` are given, else the state."""
        if not feed and not fetch:
            return self.save_persistables(None, dirname)
        block = default_main_program().global_block()
        targets = [block.var(one) if isinstance(one, str) else one for one in fetch]
        names = [one if isinstance(one, str) else one.name for one in feed]
        return self.save_inference_model(None, dirname, names, targets)
