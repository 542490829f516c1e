"""File systems: of this machine, and of HDFS by way of a command that stands for hadoop."""

import os
import stat
import sys

import pytest
from paddle.distributed.fleet.utils import HDFSClient, LocalFS, fs
from paddle.fluid.contrib.utils import hdfs_utils
from paddle.fluid.incubate.fleet.utils import hdfs

# Serves the folder $HDFS_ROOT under "hdfs:/", with the words and outputs of hadoop fs.
HADOOP = """#!%s
import os, shutil, sys
root = os.environ["HDFS_ROOT"]
words = [word for word in sys.argv[2:] if not word.startswith("-D")]
open(os.path.join(root, "..", "calls"), "a").write(" ".join(sys.argv[1:]) + "\\n")
here = lambda path: os.path.join(root, path.removeprefix("hdfs:").lstrip("/"))
command, flags = words[0], [word for word in words[1:] if word.startswith("-")]
paths = [word for word in words[1:] if not word.startswith("-")]

def row(path):
    full = here(path)
    kind = "d" if os.path.isdir(full) else "-"
    size = 0 if kind == "d" else os.path.getsize(full)
    print(f"{kind}rw-r--r--   1 user group {size:10} 2020-01-01 00:00 {path}")

def copy(source, target):
    if os.path.isdir(target):
        target = os.path.join(target, os.path.basename(source))
    if os.path.exists(target) and "-f" not in flags:
        sys.exit("put: File exists")
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)

if command == "-test":
    test = {"-e": os.path.exists, "-d": os.path.isdir}[flags[0]]
    sys.exit(0 if test(here(paths[0])) else 1)
elif command == "-ls":
    print("Found items")
    for folder, folders, files in os.walk(here(paths[0])):
        for name in sorted(folders + files):
            row("/" + os.path.relpath(os.path.join(folder, name), root))
        if "-R" not in flags:
            break
elif command == "-mkdir":
    os.makedirs(here(paths[0]), exist_ok=True)
elif command == "-mv":
    if not os.path.exists(here(paths[0])):
        sys.exit("mv: no such file")
    os.rename(here(paths[0]), here(paths[1]))
elif command == "-rm":
    path = here(paths[0])
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
elif command == "-touchz":
    open(here(paths[0]), "w")
elif command == "-cat":
    sys.stdout.write(open(here(paths[0])).read())
elif command == "-put":
    copy(paths[0], here(paths[1]))
elif command == "-get":
    copy(here(paths[0]), paths[1])
"""


@pytest.fixture
def hadoop(tmp_path, monkeypatch):
    """The home of a hadoop whose files are in tmp_path/hdfs."""
    home = tmp_path / "hadoop"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "hadoop"
    program.write_text(HADOOP % sys.executable)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "hdfs").mkdir()
    monkeypatch.setenv("HDFS_ROOT", str(tmp_path / "hdfs"))
    return str(home)


CONFIGS = {"fs.default.name": "hdfs://host:54310", "hadoop.job.ugi": "me,secret"}


def exercise(client, root, local):
    """What programs do with a file system, of either kind."""
    assert client.ls_dir(f"{root}/nothing") == ([], [])
    client.mkdirs(f"{root}/models/1")
    client.mkdirs(f"{root}/models/1")
    client.touch(f"{root}/models/done")
    client.touch(f"{root}/models/done")
    with pytest.raises(fs.FSFileExistsError):
        client.touch(f"{root}/models/done", exist_ok=False)
    assert client.ls_dir(f"{root}/models") == (["1"], ["done"])
    assert client.list_dirs(f"{root}/models") == ["1"]
    assert client.is_dir(f"{root}/models") and not client.is_file(f"{root}/models")
    assert client.is_file(f"{root}/models/done") and not client.is_exist(f"{root}/other")
    with pytest.raises(fs.FSFileNotExistsError):
        client.mv(f"{root}/other", f"{root}/more", test_exists=True)
    client.touch(f"{root}/more")
    with pytest.raises(fs.FSFileExistsError):
        client.mv(f"{root}/models/done", f"{root}/more", test_exists=True)
    client.mv(f"{root}/models/done", f"{root}/more", overwrite=True)
    (local / "text").write_text("a line\n")
    client.upload(str(local / "text"), f"{root}/text")
    assert client.cat(f"{root}/text").strip() == "a line"
    client.download(f"{root}/text", str(local / "back"))
    assert (local / "back").read_text() == "a line\n"
    client.delete(f"{root}/models")
    client.delete(f"{root}/models")
    assert not client.is_exist(f"{root}/models")


def test_files_of_this_machine(tmp_path):
    (tmp_path / "fs").mkdir()
    exercise(LocalFS(), str(tmp_path / "fs"), tmp_path)
    assert not LocalFS().need_upload_download()


def test_files_of_hdfs(tmp_path, hadoop):
    client = HDFSClient(hadoop, CONFIGS, time_out=1000, sleep_inter=100)
    exercise(client, "/", tmp_path)
    assert client.need_upload_download()
    assert client.list_files_info(["/"]) == [
        {"path": "/more", "size": 0},
        {"path": "/text", "size": 7},
    ]
    calls = (tmp_path / "calls").read_text()
    assert "fs -Dfs.default.name=hdfs://host:54310 -Dhadoop.job.ugi=me,secret -ls" in calls
    with pytest.raises(fs.ExecuteError, match="failed: mv: no such file"):
        client.rename("/nothing", "/something")
    with pytest.raises(fs.ExecuteError, match="there is no /no/bin/hadoop"):
        HDFSClient("/no", {}).is_exist("/")


def test_hdfs_in_the_words_of_1_8(tmp_path, hadoop):
    client = hdfs.HDFSClient(hadoop, CONFIGS)
    (tmp_path / "text").write_text("a line\n")
    assert client.makedirs("/data/deep") and client.upload("/data/b", str(tmp_path / "text"))
    client.upload("/data/deep/c", str(tmp_path / "text"))
    assert client.ls("/data") == ["/data/b", "/data/deep"]
    assert client.lsr("/data", excludes=["/data/b"]) == ["/data/deep/c"]
    assert not client.rename("/nothing", "/else") and client.rename("/data/b", "/data/e")
    assert client.cat("/data/e") == "a line" and client.cat("/data/b") == ""
    assert client.is_file("/data/e") and client.is_dir("/data")
    assert client.delete("/data/e") and client.ls("/data") == ["/data/deep"]
    assert client.split_files(["a", "b", "c"], 1, 2) == ["c"]


def test_many_files_of_hdfs_at_once(tmp_path, hadoop):
    client = hdfs_utils.HDFSClient(hadoop, CONFIGS)
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    for name in ("a", "b", "deep/c"):
        (source / name).write_text(name)
    hdfs_utils.multi_upload(client, "/all", str(source))
    assert client.lsr("/all") == ["/all/a", "/all/b", "/all/deep/c"]
    got = hdfs_utils.multi_download(client, "/all", str(tmp_path / "back"), 0, 2)
    assert [os.path.relpath(path, tmp_path / "back") for path in got] == ["a", "deep/c"]
    assert (tmp_path / "back" / "deep" / "c").read_text() == "deep/c"
