"""``Trainer`` under its name of 1.0."""

from ..trainer import *  # noqa: F403
from ..trainer import __all__  # noqa: F401
