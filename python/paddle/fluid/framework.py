"""Programs, blocks, variables, and the guards around them."""

from paddle._names import names_of
from paddle._rows import rows
from paddle.base import core  # noqa: F401
from paddle.base import unique_name  # noqa: F401

rows(globals())


def grad_var_name(var_name):
    """The name of a variable's gradient."""
    return f"{var_name}@GRAD"


__getattr__, __dir__ = names_of(__name__)
