"""File systems in the words of 1.8."""

from paddle.distributed.fleet.utils import fs as _fs

__all__ = ["FS", "LocalFS", "BDFS"]

FS = _fs.FS


class _Words:
    """What 1.8 calls the same."""

    def mkdir(self, fs_path):
        self.mkdirs(fs_path)

    def rm(self, fs_path):
        self.delete(fs_path)

    rmr = rm

    def stat(self, fs_path):
        return self.is_exist(fs_path)


class LocalFS(_Words, _fs.LocalFS):
    """Files of this machine."""

    def ls_dir(self, fs_path):
        """The names in a folder."""
        folders, files = super().ls_dir(fs_path)
        return folders + files

    def list_dirs(self, fs_path):
        """The names of the folders in a folder."""
        return super().ls_dir(fs_path)[0]


class BDFS(_Words, _fs.HDFSClient):
    """Files of HDFS; ``$HADOOP_HOME`` says where hadoop is."""

    def __init__(self, hdfs_name, hdfs_ugi, time_out=20 * 60 * 1000, sleep_inter=1000):
        configs = {"fs.default.name": hdfs_name, "hadoop.job.ugi": hdfs_ugi}
        super().__init__("$HADOOP_HOME", configs, time_out, sleep_inter)
