"""How workers and servers exchange parameters: four strategies, each with its settings."""

import os

from paddle._names import did_you_mean
from paddle._words import of_kind
from paddle.base.compiler import BuildStrategy, ExecutionStrategy
from paddle.fluid.transpiler.distribute_transpiler import DistributeTranspilerConfig, settings_of

__all__ = [
    *("AsyncStrategy", "DistributedMode", "DistributedStrategy", "GeoStrategy"),
    *("HalfAsyncStrategy", "StrategyFactory", "SyncStrategy", "TrainerRuntimeConfig"),
]


class DistributedMode:
    """Kinds of strategies."""

    SYNC = 0
    ASYNC = 1
    HALF_ASYNC = 2
    GEO = 3


class TrainerRuntimeConfig:
    """Settings of what sends gradients and fetches parameters; texts, as in the environment."""

    _defaults = {
        "communicator_max_merge_var_num": "1",
        "communicator_send_queue_size": "1",
        "communicator_independent_recv_thread": "1",
        "communicator_min_send_grad_num_before_recv": "1",
        "communicator_thread_pool_size": "5",
        "communicator_send_wait_times": "5",
        "communicator_is_sgd_optimizer": "1",
        "rpc_deadline": "180000",
        "rpc_retry_times": "3",
    }
    _of_mode = {
        DistributedMode.SYNC: (
            *("communicator_max_merge_var_num", "communicator_send_wait_times"),
            *("communicator_thread_pool_size", "communicator_send_queue_size"),
        ),
        DistributedMode.GEO: ("communicator_thread_pool_size", "communicator_send_wait_times"),
    }
    _of_mode[DistributedMode.HALF_ASYNC] = _of_mode[DistributedMode.SYNC]

    def __init__(self):
        self.mode = None
        self.runtime_configs = {
            name: os.environ.get(f"FLAGS_{name}", value) for name, value in self._defaults.items()
        }

    def get_communicator_flags(self):
        """The settings that the mode has."""
        names = self._of_mode.get(self.mode, self.runtime_configs)
        return {name: self.runtime_configs[name] for name in names}

    def __repr__(self):
        rows = "".join(
            f"{name:<45}{value}\n" for name, value in self.get_communicator_flags().items()
        )
        return f"TrainerRuntimeConfig\n{rows}"


class ServerRuntimeConfig:
    """Settings of a server."""

    def __init__(self):
        self._rpc_send_thread_num = 12
        self._rpc_get_thread_num = 12
        self._rpc_prefetch_thread_num = 12


class DistributedStrategy:
    """Settings of programs, workers, servers and runs. A setter takes a config or a dict."""

    _mode = None
    _half_async = _in_step = _geo = False

    def __init__(self):
        self._program_config = DistributeTranspilerConfig()
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True
        self._program_config.half_async = self._half_async
        self._program_config.completely_not_async = self._in_step
        self._program_config.geo_sgd_mode = self._geo
        self._trainer_runtime_config = TrainerRuntimeConfig()
        self._trainer_runtime_config.mode = self._mode
        self._server_runtime_config = ServerRuntimeConfig()
        self._execute_strategy = ExecutionStrategy()
        self._execute_strategy.num_threads = 1
        self._build_strategy = BuildStrategy()
        self._build_strategy.async_mode = True
        self.debug_opt = None

    def set_debug_opt(self, opt_info):
        self.debug_opt = opt_info

    def get_debug_opt(self):
        return self.debug_opt

    def _transpiler_settings(self):
        """What the core makes programs by."""
        return settings_of(
            self._program_config, self._trainer_runtime_config.get_communicator_flags()
        )


def _accessors(word, kind):
    """``get_<word>`` and ``set_<word>`` of a strategy."""
    place = f"_{word}"

    def get(self):
        return getattr(self, place)

    def set(self, config):
        if isinstance(config, kind):
            setattr(self, place, config)
            return
        of_kind(config, dict, f"set_{word}() takes a {kind.__name__} or a dict, but got a")
        kept = getattr(self, place)
        known = kept.runtime_configs if kind is TrainerRuntimeConfig else vars(kept)
        for name, value in config.items():
            if name not in known and not hasattr(kept, name):
                hint = did_you_mean(name, known)
                raise ValueError(f"{kind.__name__} has no setting {name}.{hint}")
            if kind is TrainerRuntimeConfig:
                known[name] = str(value)
            else:
                setattr(kept, name, value)

    get.__doc__, set.__doc__ = f"The {kind.__name__}.", f"Take over a {kind.__name__} or a dict."
    return get, set


for _word, _kind in [
    ("program_config", DistributeTranspilerConfig),
    ("trainer_runtime_config", TrainerRuntimeConfig),
    ("server_runtime_config", ServerRuntimeConfig),
    ("execute_strategy", ExecutionStrategy),
    ("build_strategy", BuildStrategy),
]:
    _get, _set = _accessors(_word, _kind)
    setattr(DistributedStrategy, f"get_{_word}", _get)
    setattr(DistributedStrategy, f"set_{_word}", _set)


class SyncStrategy(DistributedStrategy):
    """A step of training waits for all workers."""

    _mode = DistributedMode.SYNC
    _half_async = _in_step = True


class AsyncStrategy(DistributedStrategy):
    """Each worker sends and fetches on its own."""

    _mode = DistributedMode.ASYNC


class HalfAsyncStrategy(DistributedStrategy):
    """Each worker sends on its own, and fetches what its gradients led to."""

    _mode = DistributedMode.HALF_ASYNC
    _half_async = True


class GeoStrategy(DistributedStrategy):
    """Each worker trains alone and sends the difference every ``update_frequency`` steps."""

    _mode = DistributedMode.GEO
    _geo = True

    def __init__(self, update_frequency=100):
        super().__init__()
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """The four strategies by name."""

    create_sync_strategy = SyncStrategy
    create_async_strategy = AsyncStrategy
    create_half_async_strategy = HalfAsyncStrategy
    create_geo_strategy = GeoStrategy


def strategy_of(config):
    """The strategy for what a program gave: one, the config of a transpiler, or nothing."""
    if config is None:
        return SyncStrategy()
    if isinstance(config, DistributedStrategy):
        return config
    said = "strategy must be made by StrategyFactory or be a DistributeTranspilerConfig, but is a"
    of_kind(config, DistributeTranspilerConfig, said)
    if config.geo_sgd_mode:
        return GeoStrategy(config.geo_sgd_need_push_nums)
    return SyncStrategy() if config.sync_mode else AsyncStrategy()
