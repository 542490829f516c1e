"""Values, places, codes and exceptions, as 2.0 to 2.4 name them: ``paddle.core``."""

from paddle._names import names_of
from paddle.base.core import *  # noqa: F403

__getattr__, __dir__ = names_of(__name__)
