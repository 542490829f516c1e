"""Initializers in the API of 1.x."""

import contextlib

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


@contextlib.contextmanager
def init_on_cpu():
    """A ``with`` block whose variables get their first values on the CPU, as all do."""
    yield


def force_init_on_cpu():
    """Whether such a block is open; it makes no difference."""
    return False


__getattr__, __dir__ = names_of(__name__)
