"""Layers and functions of variables in the words of 1.x."""

from paddle._names import names_of

from . import (  # noqa: F401
    collective,
    control_flow,
    io,
    learning_rate_scheduler,
    loss,
    metric_op,
    more_tensor,
    nn,
    ops,
    rnn,
    sequence_lod,
    tensor,
    vision,
)
from .control_flow import *  # noqa: F403
from .io import *  # noqa: F403
from .learning_rate_scheduler import *  # noqa: F403
from .loss import *  # noqa: F403
from .metric_op import *  # noqa: F403
from .more_tensor import *  # noqa: F403
from .nn import *  # noqa: F403
from .ops import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sequence_lod import *  # noqa: F403
from .tensor import *  # noqa: F403
from .vision import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__, ["layer_function_generator", "utils"])
