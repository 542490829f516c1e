"""Files of this machine, and of HDFS by way of the ``hadoop`` command, in the same words."""

import os
import re
import shutil
import subprocess
import time

__all__ = ["LocalFS", "HDFSClient"]


class ExecuteError(Exception):
    """A command of hadoop failed."""


class FSFileExistsError(Exception):
    """Something is where nothing should be."""


class FSFileNotExistsError(Exception):
    """Nothing is where something should be."""


class FSTimeOut(Exception):
    """A command of hadoop did not end in time."""


class FSShellCmdAborted(ExecuteError):
    """A command of hadoop was interrupted."""


class FS:
    """What file systems can do."""

    def list_dirs(self, fs_path):
        """The names of the folders in a folder."""
        return self.ls_dir(fs_path)[0] if self.is_exist(fs_path) else []

    def mv(self, src_path, dst_path, overwrite=False, test_exists=True):
        """Give a file or folder another path."""
        if test_exists or overwrite:
            if not self.is_exist(src_path):
                raise FSFileNotExistsError(f"{src_path} does not exist")
            if overwrite and self.is_exist(dst_path):
                self.delete(dst_path)
            if self.is_exist(dst_path):
                raise FSFileExistsError(f"{dst_path} is there already")
        self.rename(src_path, dst_path)

    def touch(self, fs_path, exist_ok=True):
        """Make an empty file, where none is."""
        if not self.is_exist(fs_path):
            self._create(fs_path)
        elif not exist_ok:
            raise FSFileExistsError(f"{fs_path} is there already")


class LocalFS(FS):
    """Files of this machine."""

    def ls_dir(self, fs_path):
        """(names of folders, names of files) in a folder; nothing where there is none."""
        if not self.is_exist(fs_path):
            return [], []
        names = sorted(os.listdir(fs_path))
        folders = [name for name in names if os.path.isdir(os.path.join(fs_path, name))]
        return folders, [name for name in names if name not in set(folders)]

    def is_file(self, fs_path):
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path):
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path):
        return os.path.exists(fs_path)

    def mkdirs(self, fs_path):
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path, fs_dst_path):
        os.rename(fs_src_path, fs_dst_path)

    def mv(self, src_path, dst_path, overwrite=False, test_exists=False):
        """Give a file or folder another path, where nothing is yet unless ``overwrite``."""
        super().mv(src_path, dst_path, overwrite, True)

    def delete(self, fs_path):
        """Delete a file or a whole folder, if there is one."""
        if self.is_dir(fs_path):
            shutil.rmtree(fs_path)
        elif self.is_exist(fs_path):
            os.remove(fs_path)

    def _create(self, fs_path):
        with open(fs_path, "a", encoding="utf-8"):
            pass

    def cat(self, fs_path=None):
        """What a file holds."""
        with open(fs_path, encoding="utf-8") as file:
            return file.read()

    def need_upload_download(self):
        return False

    def upload(self, local_path, fs_path):
        """Copy a file or folder."""
        copy = shutil.copytree if self.is_dir(local_path) else shutil.copy
        copy(local_path, fs_path)

    upload_dir = upload

    def download(self, fs_path, local_path):
        """Copy a file or folder."""
        self.upload(fs_path, local_path)


class HDFSClient(FS):
    """Files of HDFS: each call is a command of ``<hadoop_home>/bin/hadoop fs``.

    ``configs``: ``{"fs.default.name": …, "hadoop.job.ugi": …}``. ``time_out``: for how many
    milliseconds a command that fails is tried again, every ``sleep_inter``.
    """

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        self._command = [os.path.join(os.path.expandvars(hadoop_home), "bin", "hadoop"), "fs"]
        self._command += [f"-D{name}={value}" for name, value in (configs or {}).items()]
        self._patience, self._pause = time_out / 1000, sleep_inter / 1000

    def _run(self, *arguments):
        """(exit code, what it printed), of one try."""
        try:
            done = subprocess.run(
                [*self._command, *arguments],
                capture_output=True,
                text=True,
                timeout=self._patience,
                check=False,
            )
        except FileNotFoundError as error:
            raise ExecuteError(f"there is no {self._command[0]}: {error}") from None
        except subprocess.TimeoutExpired:
            raise FSTimeOut(f"hadoop fs {' '.join(arguments)} took too long") from None
        self._said = (done.stderr or done.stdout).strip()
        return done.returncode, done.stdout

    def _do(self, *arguments):
        """What it printed; tried again while it fails and there is time."""
        end = time.monotonic() + self._patience
        while True:
            code, printed = self._run(*arguments)
            if code == 0:
                return printed
            if time.monotonic() + self._pause > end:
                raise ExecuteError(f"hadoop fs {' '.join(arguments)} failed: {self._said}")
            time.sleep(self._pause)

    def _rows(self, fs_path, *options):
        """(whether it is a folder, bytes, path) of what a folder holds."""
        rows = []
        for line in self._do("-ls", *options, fs_path).splitlines():
            words = line.split(None, 7)
            if len(words) == 8 and re.match(r"[-d][-rwx]{9}", words[0]):
                rows.append((words[0][0] == "d", int(words[4]), words[7]))
        return rows

    def _test(self, flag, fs_path):
        return self._run("-test", flag, fs_path)[0] == 0

    def ls_dir(self, fs_path):
        """(names of folders, names of files) in a folder; nothing where there is none."""
        rows = self._rows(fs_path) if self.is_exist(fs_path) else []
        names = [(folder, os.path.basename(path)) for folder, _, path in rows]
        return [one for folder, one in names if folder], [
            one for folder, one in names if not folder
        ]

    def list_files_info(self, path_list):
        """[{"path": …, "size": …}] of the files in some folders."""
        rows = [row for path in path_list for row in self._rows(path)]
        return [{"path": path, "size": size} for folder, size, path in rows if not folder]

    def is_exist(self, fs_path):
        return self._test("-e", fs_path)

    def is_dir(self, fs_path):
        return self._test("-d", fs_path)

    def is_file(self, fs_path):
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def mkdirs(self, fs_path):
        if not self.is_exist(fs_path):
            self._do("-mkdir", "-p", fs_path)

    def rename(self, fs_src_path, fs_dst_path):
        self._do("-mv", fs_src_path, fs_dst_path)

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=True):
        """Give a file or folder another path."""
        super().mv(fs_src_path, fs_dst_path, overwrite, test_exists)

    def delete(self, fs_path):
        """Delete a file or a whole folder, if there is one."""
        if self.is_exist(fs_path):
            self._do("-rm", "-r", fs_path)

    def _create(self, fs_path):
        self._do("-touchz", fs_path)

    def cat(self, fs_path=None):
        """What a file holds; "" where there is none."""
        return self._do("-cat", fs_path).rstrip("\n") if self.is_file(fs_path) else ""

    def need_upload_download(self):
        return True

    def upload(self, local_path, fs_path, multi_processes=5, overwrite=False):
        """Copy a file or folder of this machine to HDFS."""
        if not os.path.exists(local_path):
            raise FSFileNotExistsError(f"{local_path} does not exist")
        self._do("-put", *(["-f"] if overwrite else []), local_path, fs_path)

    def upload_dir(self, local_dir, dest_dir, overwrite=False):
        """Copy a folder into one of HDFS, as ``<dest_dir>/<its name>``."""
        name = os.path.basename(os.path.normpath(local_dir))
        if overwrite:
            self.delete(f"{dest_dir.rstrip('/')}/{name}")
        self.mkdirs(dest_dir)
        self.upload(local_dir, dest_dir)

    def download(self, fs_path, local_path, multi_processes=5, overwrite=False):
        """Copy a file or folder of HDFS to this machine."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError(f"{fs_path} does not exist")
        self._do("-get", *(["-f"] if overwrite else []), fs_path, local_path)


class AFSClient(HDFSClient):
    """Refused: AFS has no command of its own."""

    def __init__(self, time_out=5 * 60 * 1000, sleep_inter=1000):
        raise NotImplementedError("AFS is not reached from here: use HDFSClient or LocalFS")
