"""Values, places, codes and exceptions: ``fluid.core``."""

from paddle.base.core import *  # noqa: F403
from paddle.base.core import __dir__, __getattr__  # noqa: F401
