"""Training with parameter servers by 1.8's pslib: asynchronous, with sparse tables that the strategy
describes.

A server calls ``fleet.run_server()``; a worker ``fleet.init_worker()`` after its startup program,
and ``fleet.stop_worker()`` at the end. What concerns tables is called by every worker, and done by
the first while the others wait.
"""

import re
import warnings

import _flotilla as core
from paddle.base.scope import global_scope
from paddle.distributed.fleet.base.distributed_strategy import DistributedStrategy
from paddle.distributed.fleet.base.role_maker import RoleMakerBase

from ...base.fleet_base import DistributedOptimizer, Fleet, Mode
from ._summaries import WithSummaries

# Words of a strategy that ask for what happens anyway.
_ALWAYS = {"device_worker", "loss_names", "use_cvm", "no_cvm"}

_UNSEEN_DAYS = 30  # where a strategy does not say


def _strategy_of(words):
    """A strategy in the API of 2.x: dicts are tables."""
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
        super().__init__(WithSummaries(optimizer), _strategy_of(strategy or {}), fleet._role)

    def minimize(
        self, losses, scopes=None, startup_programs=None, parameter_list=None, no_grad_set=None
    ):
        """Add the backward pass and the update; then ``fleet.main_program`` exists.

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
        self._unseen_days = _UNSEEN_DAYS

    def init(self, role_maker=None):
        """Find out who this process is. Programs of the first days give an executor, which says
        nothing about that: then the environment does."""
        super().init(role_maker if isinstance(role_maker, RoleMakerBase) else None)

    def init_worker(self):
        """Connect to the servers, after the startup program."""
        super().init_worker(self._scope)

    def init_server(self, model_dir=None, **kwargs):
        """On a server, nothing but what :meth:`run_server` does; on a worker, :meth:`load_model`."""
        if self.is_worker() and model_dir is not None:
            self.load_model(model_dir, **kwargs)

    def run_server(self):
        """Make the tables, and serve until all workers are done."""
        super().init_server()
        super().run_server()

    def distributed_optimizer(self, optimizer, strategy=None):
        """An optimizer whose ``minimize`` makes the programs of the fleet.

        ``strategy``: ``{table: {"sparse_embedx_dim": 8, ...}}``.
        """
        words = [one for one in (strategy or {}).values() if isinstance(one, dict)]
        days = (one.get("sparse_delete_after_unseen_days", _UNSEEN_DAYS) for one in words)
        self._unseen_days = min(days, default=_UNSEEN_DAYS)
        self._optimizer = DownpourOptimizer(optimizer, strategy)
        return self._optimizer

    def save_persistables(self, executor, dirname, main_program=None, **kwargs):
        """Write what the program keeps from run to run, and the tables of the servers."""
        program = main_program or self._program()
        self._by_first(super(Fleet, self).save_persistables, executor, dirname, program)

    def save_model(self, model_dir=None, **kwargs):
        """:meth:`save_persistables` of the fleet's program."""
        self.save_persistables(None, model_dir, **kwargs)

    def load_model(self, model_dir=None, **kwargs):
        """Fill the tables with what :meth:`save_persistables` wrote."""
        self._by_first(super().load_model, model_dir, kwargs.get("mode", 0))
        core.fleet.take_dense(self._scope or global_scope())

    def save_cache_model(self, executor, dirname, main_program=None, **kwargs):
        """:meth:`save_persistables`; returns how many rows there are."""
        self.save_persistables(executor, dirname, main_program)
        return sum(self._rows().values())

    def save_model_with_whitelist(
        self, executor, dirname, whitelist_path, main_program=None, **kwargs
    ):
        """Refused: all rows are saved."""
        raise NotImplementedError(
            "fleet.save_model_with_whitelist() is not implemented: all rows are saved; use "
            "fleet.save_persistables()"
        )

    def load_one_table(self, table_id, model_path, **kwargs):
        """Load one table from a save."""
        table = self._table(table_id)["id"]
        self._by_first(super().load_one_table, table, model_path, 0)
        core.fleet.take_dense(self._scope or global_scope())

    def save_one_table(self, table_id, model_dir, **kwargs):
        """Let the servers write one table."""
        table = self._table(table_id)["id"]
        self._by_first(super().save_one_table, table, model_dir, 0)

    # ---- tables

    def shrink_sparse_table(self):
        """Count every row of the sparse tables as unseen once more, and drop those that were unseen
        more often than ``sparse_delete_after_unseen_days`` of the strategy."""
        self._by_first(self.shrink, self._unseen_days)

    def shrink_dense_table(self, decay, emb_dim=11, scope=None, table_id=None):
        """Nothing to do: summaries of data_norm, which this is for, decay with each batch."""

    def clear_model(self):
        """Drop all rows of the sparse tables."""

        def clear():
            for _ in range(2):  # a row that nobody sees goes at the second time
                core.fleet.shrink(1)

        self._by_first(clear)

    def clear_one_table(self, table_id):
        """:meth:`clear_model`, where there is one sparse table."""
        sparse = [table["name"] for table in self._tables() if table["sparse"]]
        if sparse != [self._table(table_id)["name"]]:
            raise NotImplementedError(
                f"the sparse tables {sparse} are cleared together: use fleet.clear_model()"
            )
        self.clear_model()

    def print_table_stat(self, table_id):
        """On the first worker, print how large a table is."""

        def show():
            table = self._table(table_id)
            name, width = table["name"], table["width"]
            size = f"{self._rows()[name]} rows of {width}" if table["sparse"] else f"{width} values"
            print(f"table {table_id} ({name}): {size}", flush=True)

        self._by_first(show)

    @staticmethod
    def _tables():
        """As pslib numbers them: sparse ones come first."""
        return sorted(core.fleet.tables(), key=lambda table: not table["sparse"])

    def _table(self, table_id):
        tables = self._tables()
        if not 0 <= table_id < len(tables):
            raise ValueError(f"table_id must be from 0 to {len(tables) - 1}, but is {table_id}")
        return tables[table_id]

    def _rows(self):
        """From each table to its rows on all servers."""
        rows = {}
        for server in range(self.server_num()):
            text = core.fleet.metrics_of_server(server)
            for name, count in re.findall(r'^flotilla_ps_rows\{table="(.*)"\} (\d+)$', text, re.M):
                rows[name] = rows.get(name, 0) + int(count)
        return rows

    # ---- what needs nothing here

    def set_date(self, table_id, date):
        """Accepted: a day is the time between two calls of :meth:`shrink_sparse_table`."""

    def confirm(self):
        """Accepted: what was pushed stays."""

    def revert(self):
        """Refused: what was pushed stays."""
        raise NotImplementedError(
            "fleet.revert() is not implemented: load the last checkpoint with fleet.load_model()"
        )

    def set_pull_local_thread_num(self, thread_num):
        """Accepted: threads are shared out by the core."""

    def _set_client_communication_config(self, request_timeout_ms, connect_timeout_ms, max_retry):
        """Accepted: requests are sent again until they are answered, or the job stops."""

    def _by_first(self, work, *words):
        self.barrier_worker()
        if self.is_first_worker():
            work(*words)
        self.barrier_worker()


class fleet_embedding:
    """A ``with`` block whose embeddings belong to ``click_name``; they are like others."""

    def __init__(self, click_name, scale_sparse_grad=True):
        self.click_name = click_name

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


fleet = PSLib()
