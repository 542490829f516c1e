"""How a parameter is made and trained."""

from paddle._names import names_of
from paddle.base.param_attr import ParamAttr  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
