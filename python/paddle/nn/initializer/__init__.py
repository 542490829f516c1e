"""Initializers: how a parameter gets its first value."""

from paddle._names import names_of
from paddle.base.initializer import (  # noqa: F401
    Assign,
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    set_global_initializer,
)

__getattr__, __dir__ = names_of(__name__)
