"""Running programs."""

import numpy as np

from paddle._names import names_of
from paddle.base.executor import Executor, FetchHandler, global_scope, scope_guard  # noqa: F401


def as_numpy(tensor):
    """A tensor, or a list of some, as arrays."""
    return [as_numpy(one) for one in tensor] if isinstance(tensor, list) else np.array(tensor)


def _fetch_var(name, scope=None, return_numpy=True):
    """The value of a variable that is kept from run to run."""
    tensor = (scope or global_scope()).find_var(name).get_tensor()
    return as_numpy(tensor) if return_numpy else tensor


__getattr__, __dir__ = names_of(__name__)
