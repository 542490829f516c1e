"""Training with parameter servers by 1.8's pslib: asynchronous, with sparse tables that the strategy
describes.

A server calls ``fleet.run_server()``; a worker ``fleet.init_worker()`` after its startup program,
and ``fleet.stop_worker()`` at the end. What concerns tables is called by every worker, and done by
the first while the others wait.
"""

import warnings

import _flotilla as core
from paddle._names import names_of
from paddle.base.scope import global_scope
from paddle.distributed.fleet.base.distributed_strategy import DistributedStrategy

from ...base.fleet_base import DistributedOptimizer, Fleet, Mode

# Words of a strategy that ask for what happens anyway.
_ALWAYS = {"device_worker", "loss_names", "use_cvm", "no_cvm"}


def _strategy_of(words):
    """A strategy in the words of 2.x: dicts are tables."""
    strategy = DistributedStrategy()
    strategy.a_sync = True
    strategy.fleet_desc_configs = words
    for name, value in words.items():
        if value and not isinstance(value, dict) and name not in _ALWAYS:
            warnings.warn(f'strategy["{name}"] = {value!r} has no effect yet.', stacklevel=4)
    return strategy


class DownpourOptimizer(DistributedOptimizer):
    """An optimizer whose ``minimize`` makes the programs of the fleet."""

    def __init__(self, optimizer, strategy=None):
        super().__init__(optimizer, _strategy_of(strategy or {}), fleet._inside._role())

    def minimize(
        self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None
    ):
        """Add the backward pass and the update; then ``fleet.main_program`` is there.

        ``losses``: one loss, or a list with one; so are ``scopes`` and ``startup_programs``.
        """
        loss, startup_program = _only("losses", losses), _only("startup_programs", startup_programs)
        made = super().minimize(loss, startup_program, parameter_list, no_grad_set)
        fleet._keep(loss.block.program, startup_program)
        fleet._scope = _only("scopes", scopes)
        return list(made)


def _only(word, value):
    """A value, or the only one of a list."""
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) != 1:
        raise ValueError(f"{word} must be one, or a list of one, but there are {len(value)}")
    return value[0]


class PSLib(Fleet):
    """The fleet of a job with parameter servers."""

    def __init__(self):
        super().__init__(Mode.PSLIB)
        self._scope = None

    def init_worker(self):
        """Connect to the servers, after the startup program."""
        self._inside.init_worker(self._scope)

    def stop_worker(self):
        """Leave the servers."""
        self._inside.stop_worker()

    def init_server(self, model_dir=None, **kwargs):
        """On a server, nothing but what :meth:`run_server` does; on a worker, :meth:`load_model`."""
        if self.is_worker() and model_dir is not None:
            self.load_model(model_dir, **kwargs)

    def run_server(self):
        """Make the tables, and serve until all workers are done."""
        self._inside.init_server()
        self._inside.run_server()

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the programs of the fleet.

        ``strategy``: ``{table: {"sparse_embedx_dim": 8, ...}}``.
        """
        self._optimizer = DownpourOptimizer(optimizer, strategy)
        return self._optimizer

    def save_persistables(self, executor, dirname, main_program=None, **kwargs):
        """Write what the program keeps from run to run, and the tables of the servers."""
        self._by_first(
            lambda: self._inside.save_persistables(
                executor, dirname, main_program or self._program()
            )
        )

    def save_model(self, model_dir=None, **kwargs):
        """:meth:`save_persistables` of the fleet's program."""
        self.save_persistables(None, model_dir, **kwargs)

    def load_model(self, model_dir=None, **kwargs):
        """Fill the tables with what :meth:`save_persistables` wrote."""
        self._by_first(lambda: self._inside.load_model(model_dir, kwargs.get("mode", 0)))
        core.take_dense(self._scope or global_scope())

    def load_one_table(self, table_id, model_path, **kwargs):
        """Refused: a checkpoint is loaded as a whole."""
        self._inside.load_one_table(table_id, model_path, kwargs.get("mode", 0))

    def save_one_table(self, table_id, model_dir, **kwargs):
        """Refused: a checkpoint is saved as a whole."""
        self._inside.save_one_table(table_id, model_dir, kwargs.get("mode", 0))

    def shrink_sparse_table(self):
        """Count every row of the sparse tables as unseen once more, and drop those that were not
        seen for long."""
        self._by_first(self._inside.shrink)

    def _by_first(self, work):
        self._inside.barrier_worker()
        if self.is_first_worker():
            work()
        self._inside.barrier_worker()


fleet = PSLib()

__getattr__, __dir__ = names_of(__name__)
