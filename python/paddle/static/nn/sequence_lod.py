"""Layers of sequences under the name of their module in 2.x."""

from paddle._names import names_of
from paddle.nn.functional import sequence_mask  # noqa: F401

from .sequence import (  # noqa: F401
    sequence_concat,
    sequence_conv,
    sequence_enumerate,
    sequence_expand,
    sequence_expand_as,
    sequence_first_step,
    sequence_last_step,
    sequence_pad,
    sequence_pool,
    sequence_reshape,
    sequence_reverse,
    sequence_scatter,
    sequence_slice,
    sequence_softmax,
    sequence_unpad,
)

__all__ = [
    *("sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand"),
    *("sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_mask"),
    *("sequence_pad", "sequence_pool", "sequence_reshape", "sequence_reverse"),
    *("sequence_scatter", "sequence_slice", "sequence_softmax", "sequence_unpad"),
]

__getattr__, __dir__ = names_of(__name__)
