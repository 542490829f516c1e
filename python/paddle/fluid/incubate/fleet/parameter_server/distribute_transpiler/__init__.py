"""Training with parameter servers in 1.8: ``fleet.init(role)``, then workers and servers part."""

from ...base.fleet_base import DistributedOptimizer, Fleet, Mode
from .distributed_strategy import (  # noqa: F401
    AsyncStrategy,
    DistributedMode,
    DistributedStrategy,
    GeoStrategy,
    HalfAsyncStrategy,
    StrategyFactory,
    SyncStrategy,
    TrainerRuntimeConfig,
    strategy_of,
)


class TranspilerOptimizer(DistributedOptimizer):
    """An optimizer whose ``minimize`` makes the programs of the fleet."""

    def __init__(self, optimizer, strategy=None):
        super().__init__(optimizer, strategy_of(strategy), fleet._role)

    def minimize(
        self, loss, scopes=None, startup_program=None, parameter_list=None, no_grad_set=None
    ):
        """Add the backward pass and the update; then ``fleet.main_program`` exists."""
        made = super().minimize(loss, startup_program, parameter_list, no_grad_set)
        fleet._keep(loss.block.program, startup_program)
        return made


class DistributedTranspiler(Fleet):
    """The fleet of a job with parameter servers."""

    def __init__(self):
        super().__init__(Mode.TRANSPILER)

    def init_worker(self):
        """Connect to the servers. A job without servers has nothing to connect to."""
        super().init_worker()

    def init_server(self, model_dir=None):
        """Make the tables, with the values of ``model_dir`` where it is given."""
        super().init_server(model_dir)

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the programs of the fleet.

        ``strategy``: one of StrategyFactory, or a DistributeTranspilerConfig; by default, in step.
        """
        self._optimizer = TranspilerOptimizer(optimizer, strategy)
        return self._optimizer


fleet = DistributedTranspiler()
