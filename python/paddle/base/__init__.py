"""What all eras of the API share: programs, executors, places, element types."""

from paddle._names import names_of

from . import core, dtype, executor, framework, interrupts  # noqa: F401
from .compiler import (  # noqa: F401
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    ParallelExecutor,
)
from .executor import Executor  # noqa: F401
from .flags import get_flags, set_flags  # noqa: F401
from .framework import (  # noqa: F401
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    device_guard,
    in_dygraph_mode,
    name_scope,
    program_guard,
)
from .lod_tensor import (  # noqa: F401
    LoDTensor,
    LoDTensorArray,
    create_lod_tensor,
    create_random_int_lodtensor,
)
from .place import (  # noqa: F401
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    XPUPlace,
    cpu_places,
    cuda_pinned_places,
    cuda_places,
    is_compiled_with_cuda,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    xpu_places,
)
from .scope import Scope, global_scope, scope_guard  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
