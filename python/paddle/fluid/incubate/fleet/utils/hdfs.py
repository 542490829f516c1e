"""Files of HDFS in the API of 1.8."""

import os

import _flotilla as core
from paddle.distributed.fleet.utils import fs as _fs

__all__ = ["HDFSClient"]


class HDFSClient(_fs.HDFSClient):
    """Files of HDFS by way of ``<hadoop_home>/bin/hadoop fs``. What fails is False."""

    def __init__(self, hadoop_home, configs):
        super().__init__(hadoop_home, configs, time_out=5 * 1000)

    def _tried(self, *arguments):
        try:
            self._do(*arguments)
        except _fs.ExecuteError:
            return False
        return True

    def ls(self, hdfs_path):
        """The paths of files and folders in a folder."""
        return [path for _, _, path in self._rows(hdfs_path)] if self.is_exist(hdfs_path) else []

    def lsr(self, hdfs_path, excludes=()):
        """The paths of all files below a folder."""
        if not self.is_exist(hdfs_path):
            return []
        rows = self._rows(hdfs_path, "-R")
        return [path for folder, _, path in rows if not folder and path not in excludes]

    def cat(self, hdfs_path=None):
        """The contents of a file; "" if it does not exist."""
        return super().cat(hdfs_path)

    def is_exist(self, hdfs_path=None):
        return super().is_exist(hdfs_path)

    def is_dir(self, hdfs_path=None):
        return super().is_dir(hdfs_path)

    def is_file(self, hdfs_path=None):
        return super().is_file(hdfs_path)

    def makedirs(self, hdfs_path):
        return self._tried("-mkdir", "-p", hdfs_path)

    def delete(self, hdfs_path):
        return self._tried("-rm", "-r", hdfs_path) if self.is_exist(hdfs_path) else True

    def rename(self, hdfs_src_path, hdfs_dst_path, overwrite=False):
        if overwrite:
            self.delete(hdfs_dst_path)
        return self._tried("-mv", hdfs_src_path, hdfs_dst_path)

    def upload(self, hdfs_path, local_path, multi_processes=5, overwrite=False, retry_times=5):
        """Copy a file or folder of this machine to HDFS."""
        return self._tried("-put", *(["-f"] if overwrite else []), local_path, hdfs_path)

    def upload_dir(self, dest_dir, local_dir, overwrite=False):
        """Copy a folder into one of HDFS, as ``<dest_dir>/<its name>``."""
        super().upload_dir(local_dir.rstrip("/"), dest_dir.rstrip("/"), overwrite)

    def download(self, hdfs_path, local_path, multi_processes=5, overwrite=False, retry_times=5):
        """Copy a file or folder of HDFS to this machine."""
        return self._tried("-get", *(["-f"] if overwrite else []), hdfs_path, local_path)

    @staticmethod
    def make_local_dirs(local_path):
        os.makedirs(local_path, exist_ok=True)

    @staticmethod
    def split_files(files, trainer_id, trainers):
        """The part of a list of files that a trainer gets."""
        begin, end = core.file_block(len(files), trainer_id, trainers)
        return files[begin:end]
