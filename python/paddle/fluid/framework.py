"""Programs, blocks, variables, and the guards around them."""

from paddle._names import names_of
from paddle.base import core  # noqa: F401
from paddle.base.dtype import convert_np_dtype_to_dtype_  # noqa: F401
from paddle.base.flags import get_flags, set_flags  # noqa: F401
from paddle.base.framework import (  # noqa: F401
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    device_guard,
    in_dygraph_mode,
    name_scope,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from paddle.base import unique_name  # noqa: F401
from paddle.base.place import (  # noqa: F401
    cpu_places,
    cuda_pinned_places,
    cuda_places,
    is_compiled_with_cuda,
)
from paddle.utils import require_version  # noqa: F401


def grad_var_name(var_name):
    """The name of a variable's gradient."""
    return f"{var_name}@GRAD"


__getattr__, __dir__ = names_of(__name__)
