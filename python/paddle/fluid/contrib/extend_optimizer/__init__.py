"""Optimizers of 1.8 with something added."""

from paddle._names import names_of

from .extend_optimizer_with_weight_decay import (  # noqa: F401
    DecoupledWeightDecay,
    extend_with_decoupled_weight_decay,
)

__all__ = ["extend_with_decoupled_weight_decay"]

__getattr__, __dir__ = names_of(__name__, ["extend_optimizer_with_weight_decay"])
