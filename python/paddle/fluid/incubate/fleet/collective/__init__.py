"""Collective training of 1.8: ``fleet.init(role)``, ``fleet.distributed_optimizer(optimizer)``."""

import warnings

import _flotilla as core
from paddle.base.compiler import BuildStrategy, ExecutionStrategy
from paddle.distributed.fleet.base import fleet_base as _fleet
from paddle.distributed.fleet.base.checkpoint import TrainStatus  # noqa: F401
from paddle.distributed.fleet.base.distributed_strategy import OptionsOfCore

from paddle.fluid import _checkpoints

from ..base.fleet_base import Fleet, Mode

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

    def _set(self, name, value):
        if name == "recompute_checkpoints":  # variables or their names
            value = [getattr(one, "name", one) for one in value]
        try:
            super()._set(name, value)
        except ValueError as error:
            if name in self._core.names():
                raise
            warnings.warn(f"{error} It changes nothing.", stacklevel=3)
            object.__setattr__(self, name, value)


class CollectiveOptimizer(_fleet.DistributedOptimizer):
    """An optimizer whose ``minimize`` makes the programs of the fleet."""

    def __init__(self, optimizer, strategy=None):
        super().__init__(optimizer, strategy or DistributedStrategy(), fleet._role)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Add the backward pass and the update; then ``fleet.main_program`` exists."""
        made = super().minimize(loss, startup_program, parameter_list, no_grad_set)
        fleet._keep(loss.block.program, startup_program)
        return made


class Collective(Fleet):
    """The fleet of a collective job."""

    _nothing = type(None)

    def __init__(self):
        super().__init__(Mode.COLLECTIVE)

    def init_worker(self):
        """Nothing to do in a collective job."""

    def run_worker(self, main_programs=None, scopes=None):
        """Nothing to do in a collective job."""

    def stop_worker(self):
        """Nothing to do in a collective job."""

    def init_server(self, model_dir=None):
        """Refused: a collective job has no servers."""
        super().init_server()

    def run_server(self):
        """Refused: a collective job has no servers."""
        super().run_server()

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the programs of the fleet."""
        self._optimizer = CollectiveOptimizer(optimizer, strategy)
        return self._optimizer

    def clean_redundant_check_points(self, root_path, fs=None, checkpoint_num=1):
        """Keep the newest ``checkpoint_num`` checkpoints of a folder."""
        if self.is_first_worker():
            _checkpoints.keep_newest(root_path, checkpoint_num)


fleet = Collective()
