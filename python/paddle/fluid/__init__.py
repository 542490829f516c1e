"""The API of 1.x."""

from paddle._names import names_of
from paddle._rows import rows

from . import core, io  # noqa: F401

rows(globals())

__getattr__, __dir__ = names_of(
    __name__,
    [
        *("average", "backward", "clip", "communicator", "compiler", "contrib", "data_feeder"),
        *("dataset", "default_scope_funcs", "dygraph", "entry_attr", "executor", "framework"),
        *("debuger", "debugger", "evaluator", "incubate", "inference_transpiler"),
        *("initializer", "install_check", "layer_helper", "memory_optimization_transpiler"),
        *("layers", "log_helper", "lod_tensor", "metrics", "nets", "optimizer"),
        *("parallel_executor", "param_attr", "profiler", "reader", "regularizer"),
        *("trainer_factory", "unique_name", "wrapped_decorator"),
    ],
)
