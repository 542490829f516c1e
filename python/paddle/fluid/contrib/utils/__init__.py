"""Tools that 1.x kept aside."""

from paddle._names import names_of

from .hdfs_utils import HDFSClient, multi_download, multi_upload  # noqa: F401

__getattr__, __dir__ = names_of(__name__, ["hdfs_utils"])
