"""Functions of variables, and the operators and methods of variables."""

from paddle._names import names_of

from . import (
    attribute,
    composed,
    creation,
    linalg,
    logic,
    manipulation,
    math,
    methods,  # noqa: F401
    ops,
    random,
    search,
    stat,
)
from .attribute import *  # noqa: F403
from .composed import *  # noqa: F403
from .creation import *  # noqa: F403
from .creation import fill_constant  # noqa: F401
from .linalg import *  # noqa: F403
from .logic import *  # noqa: F403
from .manipulation import *  # noqa: F403
from .math import *  # noqa: F403
from .ops import *  # noqa: F403
from .random import *  # noqa: F403
from .search import *  # noqa: F403
from .stat import *  # noqa: F403

__all__ = [
    name
    for module in (
        *(
            attribute,
            composed,
            creation,
            linalg,
            logic,
            manipulation,
            math,
            ops,
            random,
            search,
            stat,
        ),
    )
    for name in module.__all__
]

__getattr__, __dir__ = names_of(__name__)
