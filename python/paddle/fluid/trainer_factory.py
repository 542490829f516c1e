"""What looks at values while a data set is run."""

from paddle._names import names_of
from paddle.base.executor import FetchHandler  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
