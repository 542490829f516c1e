"""Files of HDFS, and many of them at once."""

import os

from paddle.fluid.incubate.fleet.utils import hdfs as _hdfs

__all__ = ["HDFSClient", "multi_download", "multi_upload"]


class HDFSClient(_hdfs.HDFSClient):
    """Files of HDFS by way of ``<hadoop_home>/bin/hadoop fs``. What fails is False."""

    def lsr(self, hdfs_path, only_file=True, sort=True):
        """The paths of all files below a folder; also folders unless ``only_file``."""
        rows = self._rows(hdfs_path, "-R") if self.is_exist(hdfs_path) else []
        found = [path for folder, _, path in rows if not (folder and only_file)]
        return sorted(found) if sort else found

    def upload(self, hdfs_path, local_path, overwrite=False, retry_times=5):
        """Copy a file or folder of this machine to HDFS."""
        return super().upload(hdfs_path, local_path, overwrite=overwrite)

    def download(self, hdfs_path, local_path, overwrite=False, unzip=False):
        """Copy a file or folder of HDFS to this machine."""
        if unzip:
            raise NotImplementedError("unzip=True is not supported: unpack what was downloaded")
        return super().download(hdfs_path, local_path, overwrite=overwrite)


def getfilelist(path):
    """The paths of all files below a folder of this machine."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def multi_download(client, hdfs_path, local_path, trainer_id, trainers, multi_processes=5):
    """Copy every ``trainers``-th file below a folder of HDFS here; returns the new paths."""
    client.make_local_dirs(local_path)
    here = []
    for path in client.lsr(hdfs_path)[trainer_id::trainers]:
        target = os.path.join(local_path, os.path.relpath(path, hdfs_path))
        client.make_local_dirs(os.path.dirname(target))
        client.download(path, target)
        here.append(target)
    return here


def multi_upload(client, hdfs_path, local_path, multi_processes=5, overwrite=False, sync=True):
    """Copy all files below a folder of this machine to one of HDFS."""
    for path in getfilelist(local_path):
        target = os.path.join(hdfs_path, os.path.relpath(path, local_path))
        client.makedirs(os.path.dirname(target))
        client.upload(target, path, overwrite)
