"""What programs take from this module: ``core.EOFException`` and the names around it."""

from paddle._names import names_of
from paddle.base import core  # noqa: F401
from paddle.base.dtype import VarDesc, convert_dtype, convert_np_dtype_to_dtype_  # noqa: F401
from paddle.base.framework import (  # noqa: F401
    Variable,
    default_main_program,
    device_guard,
    in_dygraph_mode,
)
from paddle.base.param_attr import ParamAttr  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
