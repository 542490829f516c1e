"""Compiled programs and their strategies: accepted as Paddle has them; every program is planned."""

import enum

from paddle._names import did_you_mean

from .executor import Executor, _program_of
from .framework import default_main_program


class Options:
    """Named values with defaults. A name that does not exist is refused with the nearest one."""

    _defaults = {}
    _word = "option"

    def __init__(self):
        vars(self).update(self._defaults)

    def __setattr__(self, name, value):
        if name not in self._defaults:
            hint = did_you_mean(name, self._defaults)
            raise AttributeError(f"{type(self).__name__} has no {self._word} {name}.{hint}")
        vars(self)[name] = value

    def __repr__(self):
        changed = {k: v for k, v in vars(self).items() if v != self._defaults[k]}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"


class ReduceStrategy(enum.IntEnum):
    """How gradients are put together: summed everywhere, or each on one place and sent back."""

    AllReduce = 0
    Reduce = 1


class GradientScaleStrategy(enum.IntEnum):
    """What the gradient of the loss starts from on each place."""

    CoeffNumDevice = 0
    One = 1
    Customized = 2


class BuildStrategy(Options):
    """How a program is rewritten before it runs. Flotilla chooses by itself; see passes."""

    ReduceStrategy = ReduceStrategy
    GradientScaleStrategy = GradientScaleStrategy
    _defaults = {
        "reduce_strategy": ReduceStrategy.AllReduce,
        "gradient_scale_strategy": GradientScaleStrategy.CoeffNumDevice,
        "enable_backward_optimizer_op_deps": True,
        "enable_inplace": True,
        "fuse_all_reduce_ops": True,
        "fuse_bn_add_act_ops": True,
        "fuse_broadcast_ops": True,
        "remove_unnecessary_lock": True,
        "debug_graphviz_path": "",
        "memory_optimize": None,
        "mkldnn_enabled_op_types": frozenset(),
        "trainers_endpoints": (),
        "nccl_comm_num": 1,
        "bkcl_comm_num": 1,
        "num_trainers": 1,
        "trainer_id": 0,
        "hierarchical_allreduce_inter_nranks": 0,
        "hierarchical_allreduce_exter_nranks": 0,
        **dict.fromkeys(
            (
                *("allow_cuda_graph_capture", "async_mode", "build_cinn_pass"),
                *("cache_runtime_context", "enable_addto", "enable_auto_fusion"),
                *("enable_sequential_execution", "fix_op_run_order", "fuse_adamw"),
                *("fuse_all_optimizer_ops", "fuse_bn_act_ops", "fuse_elewise_add_act_ops"),
                *("fuse_gemm_epilogue", "fuse_relu_depthwise_conv", "fused_attention"),
                *("fused_feedforward", "is_distribution", "sequential_run", "sync_batch_norm"),
                "use_hierarchical_allreduce",
                # of 1.0 to 1.7
                *("cache_expected_kernel", "enable_data_balance", "enable_parallel_graph"),
            ),
            False,
        ),
    }


class ExecutionStrategy(Options):
    """How a program is run. Flotilla chooses by itself; FLT_THREADS sets the threads."""

    _defaults = {
        "allow_op_delay": False,
        "num_iteration_per_drop_scope": 100,
        "num_iteration_per_run": 1,
        "num_threads": 0,
        "use_cuda": False,
        "use_experimental_executor": True,
        "use_thread_barrier": False,
        "_dry_run": False,
    }


class CompiledProgram:
    """A program to hand to ``Executor.run``; runs like the program itself, which is planned too."""

    def __init__(self, program_or_graph, build_strategy=None):
        graph = program_or_graph
        self._program = _program_of(graph) if hasattr(graph, "_program") else graph
        self._build_strategy = build_strategy or BuildStrategy()
        self._exec_strategy = ExecutionStrategy()
        self._data_parallel = False

    def with_data_parallel(
        self,
        loss_name=None,
        build_strategy=None,
        exec_strategy=None,
        share_vars_from=None,
        places=None,
    ):
        """Accepted: a process is one place. More places are more processes; see fleetrun.

        A list of feeds, one for each place, is joined to one batch.
        """
        self._build_strategy = build_strategy or self._build_strategy
        self._exec_strategy = exec_strategy or self._exec_strategy
        self._data_parallel = True
        return self


class ParallelExecutor:
    """The executor of the oldest programs: bound to one program, with ``run(fetch_list, feed)``."""

    def __init__(
        self,
        use_cuda,
        loss_name=None,
        main_program=None,
        share_vars_from=None,
        exec_strategy=None,
        build_strategy=None,
        num_trainers=1,
        trainer_id=0,
        scope=None,
    ):
        self._program = main_program or default_main_program()
        self._scope = scope
        self._executor = Executor("gpu" if use_cuda else "cpu")

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """Run the program once and return the values of ``fetch_list``."""
        feed = feed if feed is not None else feed_dict
        return self._executor.run(
            self._program, feed, fetch_list, scope=self._scope, return_numpy=return_numpy
        )

    @property
    def device_count(self):
        """The number of places: one."""
        return 1

    def drop_local_exe_scopes(self):
        """Nothing to drop: temporaries live in the plan's memory."""
