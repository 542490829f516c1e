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
from .sequence import (  # noqa: F401
    sequence_conv,
    sequence_first_step,
    sequence_last_step,
    sequence_pool,
    sequence_softmax,
)

__getattr__, __dir__ = names_of(__name__)
