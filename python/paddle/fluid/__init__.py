"""The API of 1.x."""

from paddle._names import names_of
from paddle.base.backward import append_backward, gradients  # noqa: F401
from paddle.base.compiler import (  # noqa: F401
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    ParallelExecutor,
)
from paddle.base.data_feeder import DataFeeder  # noqa: F401
from paddle.base.dataset import DatasetFactory, InMemoryDataset, QueueDataset  # noqa: F401
from paddle.base.executor import Executor  # noqa: F401
from paddle.base.flags import get_flags, set_flags  # noqa: F401
from paddle.base.framework import (  # noqa: F401
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    device_guard,
    in_dygraph_mode,
    name_scope,
    program_guard,
)
from paddle.base.input import data  # noqa: F401
from paddle.base.lod_tensor import (  # noqa: F401
    LoDTensor,
    LoDTensorArray,
    create_lod_tensor,
    create_random_int_lodtensor,
)
from paddle.base.param_attr import ParamAttr  # noqa: F401
from paddle.base.place import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    cpu_places,
    cuda_pinned_places,
    cuda_places,
    is_compiled_with_cuda,
)
from paddle.base.scope import Scope, global_scope, scope_guard  # noqa: F401
from paddle.utils import require_version  # noqa: F401

from . import core, io  # noqa: F401
from .inferencer import Inferencer  # noqa: F401
from .input import embedding, one_hot  # noqa: F401
from .io import load, load_program_state, save, set_program_state  # noqa: F401
from .trainer import (  # noqa: F401
    BeginEpochEvent,
    BeginStepEvent,
    CheckpointConfig,
    EndEpochEvent,
    EndStepEvent,
    Trainer,
)
from .transpiler import (  # noqa: F401
    DistributeTranspiler,
    DistributeTranspilerConfig,
    InferenceTranspiler,
    memory_optimize,
    release_memory,
)

Tensor = LoDTensor

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
