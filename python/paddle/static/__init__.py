"""Static programs: what 2.x calls them."""

from paddle._names import names_of
from paddle.base.backward import append_backward, gradients  # noqa: F401
from paddle.base.compiler import (  # noqa: F401
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    ParallelExecutor,
)
from paddle.base.executor import Executor  # noqa: F401
from paddle.base.framework import (  # noqa: F401
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    device_guard,
    name_scope,
    program_guard,
)
from paddle.base.place import cpu_places, cuda_places, xpu_places  # noqa: F401
from paddle.base.scope import Scope, global_scope, scope_guard  # noqa: F401

from .averages import ExponentialMovingAverage  # noqa: F401
from .debug import Print  # noqa: F401
from .input import InputSpec, data  # noqa: F401
from .io import *  # noqa: F403
from .makers import create_global_var, create_parameter  # noqa: F401
from .metric import accuracy, auc, ctr_metric_bundle  # noqa: F401
from .functions import py_func  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["amp", "nn"])
