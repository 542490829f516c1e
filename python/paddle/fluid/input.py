"""Lookups in the words of 1.x whose ids have no axis of extent one."""

import _flotilla as core
from paddle._names import names_of
from paddle.base.framework import Variable
from paddle.static.nn.common import embedding  # noqa: F401

__all__ = ["embedding", "one_hot"]


def one_hot(input, depth, allow_out_of_range=False):
    """Vectors with a one at the place that ``input`` names and zeros elsewhere."""
    return one_hot_op("one_hot_v2", input, depth, allow_out_of_range)


def one_hot_op(type, input, depth, allow_out_of_range):
    """Append an op of one of the two types; ``depth`` is a number or a variable."""
    inputs, attrs = {"X": input}, {"allow_out_of_range": allow_out_of_range}
    if isinstance(depth, Variable):
        inputs["depth_tensor"] = depth
    else:
        attrs["depth"] = depth
    return core.op(type, inputs, attrs, stop_gradient=True)


__getattr__, __dir__ = names_of(__name__)
