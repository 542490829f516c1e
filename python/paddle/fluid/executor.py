"""Running programs."""

from paddle._names import names_of
from paddle.base.executor import Executor, FetchHandler, global_scope, scope_guard  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
