"""What 1.x kept aside: ``Trainer`` and ``Inferencer``."""

from paddle._names import names_of

from .extend_optimizer import extend_with_decoupled_weight_decay  # noqa: F401
from .inferencer import *  # noqa: F403
from .trainer import *  # noqa: F403

__getattr__, __dir__ = names_of(
    __name__, ["extend_optimizer", "layers", "mixed_precision", "reader", "utils"]
)
