"""Tensors with sequences."""

from paddle._names import names_of
from paddle.base.lod_tensor import (  # noqa: F401
    create_lod_tensor,
    create_random_int_lodtensor,
)

__getattr__, __dir__ = names_of(__name__)
