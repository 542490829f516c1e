"""Programs, seeds, default types, saving and loading of states."""

from paddle._names import names_of
from paddle.base import core, framework  # noqa: F401
from paddle.base.dtype import (  # noqa: F401
    convert_np_dtype_to_dtype_,
    dtype,
    get_default_dtype,
    set_default_dtype,
)
from paddle.base.executor import seed  # noqa: F401
from paddle.base.flags import get_flags, set_flags  # noqa: F401
from paddle.base.framework import (  # noqa: F401
    Block,
    Parameter,
    Program,
    disable_static,
    enable_static,
    in_dynamic_mode,
    is_belong_to_optimizer,
    is_parameter,
    is_persistable,
    switch_main_program,
    switch_startup_program,
)
from paddle.base.param_attr import ParamAttr  # noqa: F401
from paddle.base.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, XPUPlace  # noqa: F401

from .io import load, save  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
