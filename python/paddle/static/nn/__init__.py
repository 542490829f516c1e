"""Layers with parameters, as functions."""

from paddle._names import names_of

from .common import (  # noqa: F401
    batch_norm,
    continuous_value_model,
    conv2d,
    embedding,
    fc,
    group_norm,
    instance_norm,
    layer_norm,
    prelu,
    sparse_embedding,
)
from .control_flow import case, cond, switch_case, while_loop  # noqa: F401
from .data_norm import data_norm  # noqa: F401
from .products import bilinear_tensor_product, row_conv  # noqa: F401
from ..functions import py_func  # noqa: F401
from .sampled import nce  # noqa: F401
from .sequence import *  # noqa: F403
from .transposed import conv2d_transpose  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["sequence_lod"])
