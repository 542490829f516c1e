"""``Inferencer`` under its name of 1.0."""

from ..inferencer import *  # noqa: F403
from ..inferencer import __all__  # noqa: F401
