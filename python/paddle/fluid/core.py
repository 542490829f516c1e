"""Values, places, codes and exceptions: ``fluid.core``."""

from paddle._names import names_of
from paddle.base.core import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__)
