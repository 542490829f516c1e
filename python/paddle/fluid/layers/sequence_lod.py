"""Functions of sequences in the words of 1.x."""

from paddle._names import names_of
from paddle.static.nn.sequence import (  # noqa: F401
    sequence_conv,
    sequence_first_step,
    sequence_last_step,
    sequence_pool,
    sequence_softmax,
)

__all__ = [
    *("sequence_conv", "sequence_first_step", "sequence_last_step", "sequence_pool"),
    "sequence_softmax",
]

__getattr__, __dir__ = names_of(__name__)
