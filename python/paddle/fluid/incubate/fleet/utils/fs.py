"""Files of this machine and of HDFS."""

from paddle._names import names_of
from paddle.distributed.fleet.utils.fs import FS, HDFSClient, LocalFS  # noqa: F401

__getattr__, __dir__ = names_of(__name__)
