"""Helpers of fleet."""

from paddle._names import names_of

from .fs import HDFSClient, LocalFS  # noqa: F401
from .ps_util import DistributedInfer  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["fs", "ps_util"])
