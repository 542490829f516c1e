"""Initializers in the words of 1.x."""

from paddle._names import names_of
from paddle.base.initializer import (  # noqa: F401
    ConstantInitializer,
    Initializer,
    MSRAInitializer,
    NormalInitializer,
    NumpyArrayInitializer,
    TruncatedNormalInitializer,
    UniformInitializer,
    XavierInitializer,
    set_global_initializer,
)

Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer

__getattr__, __dir__ = names_of(__name__)
