"""Collective training of 1.8: ``fleet.init(role)``, ``fleet.distributed_optimizer(optimizer)``."""

import _flotilla as core
import paddle.fluid.io as _io
from paddle.base.compiler import BuildStrategy, ExecutionStrategy
from paddle.base.framework import default_main_program, default_startup_program
from paddle.distributed.fleet.base import fleet_base as _fleet
from paddle.distributed.fleet.base.distributed_strategy import OptionsOfCore

from ..base.role_maker import PaddleCloudRoleMaker

# Options that are nothing until they are set.
_NOTHING = ("collective_mode", "memory_optimize")


class LambConfig:
    """Kept for programs that name it; it has no options."""


class DistFCConfig:
    """Kept for programs that name it; it has no options."""


class DistributedStrategy(OptionsOfCore):
    """A build strategy with the options of distributed training.

    ``strategy.fuse_all_reduce_ops = True``, ``strategy.nccl_comm_num = 2``.
    """

    _new = core.FluidStrategy
    _own = ("dist_fc_config", "exec_strategy")
    ReduceStrategy = BuildStrategy.ReduceStrategy
    GradientScaleStrategy = BuildStrategy.GradientScaleStrategy

    def __init__(self):
        super().__init__()
        self.dist_fc_config = None
        self.exec_strategy = ExecutionStrategy()
        for name, value in self._core.get("exec_strategy").items():
            setattr(self.exec_strategy, name, value)

    def __getattr__(self, name):
        if name in _NOTHING and not self._core.is_set(name):
            return None
        return super().__getattr__(name)


class CollectiveOptimizer(_fleet.DistributedOptimizer):
    """An optimizer whose ``minimize`` makes the programs of the fleet."""

    def __init__(self, optimizer, strategy=None):
        super().__init__(optimizer, strategy or DistributedStrategy())

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Add the backward pass and the update; then ``fleet.main_program`` is there."""
        made = super().minimize(loss, startup_program, parameter_list, no_grad_set)
        fleet._origin_program = fleet.main_program = loss.block.program
        fleet.startup_program = startup_program or default_startup_program()
        return made


class Collective:
    """The fleet of a collective job."""

    def __init__(self):
        self._inside = _fleet.Fleet()
        self._origin_program = None
        self.main_program = None
        self.startup_program = None

    def init(self, role_maker=None):
        """Find out who this process is. More than one process is refused for now."""
        self._inside.init(role_maker or PaddleCloudRoleMaker(is_collective=True))

    def is_first_worker(self):
        """Whether this is worker 0."""
        return self._inside.is_first_worker()

    def worker_index(self):
        """The rank of this worker."""
        return self._inside.worker_index()

    def worker_num(self):
        """How many workers there are."""
        return self._inside.worker_num()

    def is_worker(self):
        """Whether this process trains."""
        return self._inside.is_worker()

    def is_server(self):
        """Whether this process keeps parameters."""
        return self._inside.is_server()

    def worker_endpoints(self, to_string=False):
        """Where workers are: a list, or one text with commas."""
        return self._inside.worker_endpoints(to_string)

    def server_num(self):
        """How many servers there are."""
        return self._inside.server_num()

    def server_index(self):
        """The number of this server."""
        return self._inside.server_index()

    def server_endpoints(self, to_string=False):
        """Where servers are: a list, or one text with commas."""
        return self._inside.server_endpoints(to_string)

    def split_files(self, files):
        """This worker's part of a list of files: a block, the remainder to the first workers."""
        return self._inside.util.get_file_shard(files)

    def barrier_worker(self):
        """Wait until every worker is here."""
        self._inside.barrier_worker()

    def all_reduce_worker(self, input, output):
        """Write the sum of every worker's ``input`` to ``output``."""
        output[...] = self._inside.all_reduce(input)

    def init_worker(self):
        """Nothing to do in a collective job."""

    def run_worker(self, main_programs=None, scopes=None):
        """Nothing to do in a collective job."""

    def stop_worker(self):
        """Nothing to do in a collective job."""

    def init_server(self, model_dir=None):
        """Refused: a collective job has no servers."""
        self._inside.init_server()

    def run_server(self):
        """Refused: a collective job has no servers."""
        self._inside.run_server()

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the programs of the fleet."""
        self._inside._role()
        self._optimizer = CollectiveOptimizer(optimizer, strategy)
        return self._optimizer

    def save_inference_model(
        self,
        executor,
        dirname,
        feeded_var_names=None,
        target_vars=None,
        main_program=None,
        export_for_deployment=True,
    ):
        """Write what ``target_vars`` need of the program."""
        program = main_program or self._program()
        _io.save_inference_model(dirname, feeded_var_names, target_vars, executor, program)

    def save_persistables(self, executor, dirname, main_program=None, filename=None):
        """Write all that the program keeps from run to run."""
        _io.save_persistables(executor, dirname, main_program or self._program(), filename)

    def _program(self):
        return self._origin_program or default_main_program()


fleet = Collective()
