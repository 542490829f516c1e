"""Optimizers, and schedules of learning rates in ``paddle.optimizer.lr``."""

from paddle._names import names_of

from . import lr  # noqa: F401
from .optimizer import Optimizer  # noqa: F401
from .rules import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__)
