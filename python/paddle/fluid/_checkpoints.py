"""Checkpoints: folders that are there whole or not at all.

    <folder>/checkpoint_<serial>/
        __model__/<variable>      a file for each variable that is kept from run to run
        manifest.json             {"epoch", "step", "files": {path: {"bytes", "crc32"}}}

A checkpoint is written under a name that nobody looks for, beginning with a dot, forced to the
disk, and renamed. The manifest vouches for the files beside it: a checkpoint in which a file is
missing, cut short or changed is passed over, with a notice, for the one before it.
"""

import contextlib
import json
import os
import re
import shutil
import sys
import zlib

import _flotilla as core

from paddle._files import open_file

_NAME = "checkpoint_"
_MANIFEST = "manifest.json"
MODEL = "__model__"
# How reading a manifest may end that something else wrote.
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def save(folder, write, epoch, step, keep):
    """Write a checkpoint with ``write(model_folder)``; only the newest ``keep`` stay.

    The core forces each file that it writes to the disk, and the folder that holds it.
    """
    os.makedirs(folder, exist_ok=True)
    _sweep(folder)
    serial = max(_serials(folder), default=-1) + 1
    final = os.path.join(folder, f"{_NAME}{serial}")
    temporary = os.path.join(folder, f".{_NAME}{serial}.{os.getpid()}")
    os.makedirs(os.path.join(temporary, MODEL))
    write(os.path.join(temporary, MODEL))
    files = {path: _described(os.path.join(temporary, path)) for path in _files(temporary)}
    manifest = {"epoch": epoch, "step": step, "files": files}
    core.write_file(os.path.join(temporary, _MANIFEST), json.dumps(manifest, indent=1).encode())
    os.rename(temporary, final)
    _force(folder)
    keep_newest(folder, keep)


def keep_newest(folder, keep):
    """Remove all checkpoints but the newest ``keep``."""
    for old in sorted(_serials(folder), reverse=True)[keep:]:
        shutil.rmtree(os.path.join(folder, f"{_NAME}{old}"))


def newest(folder):
    """(folder of the model, epoch, step) of the newest checkpoint that is whole, or None."""
    for serial in sorted(_serials(folder), reverse=True):
        path = os.path.join(folder, f"{_NAME}{serial}")
        try:
            with open_file(os.path.join(path, _MANIFEST)) as file:
                manifest = json.load(file)
            for name, expected in manifest["files"].items():
                _check_name(name)
                found = _described(os.path.join(path, name))
                if found != expected:
                    raise ValueError(f"{name} should have {expected}, but has {found}")
            return os.path.join(path, MODEL), manifest["epoch"], manifest["step"]
        except _BROKEN as error:
            print(f"fluid.Trainer: skipping {path}: {error}", file=sys.stderr)
    return None


def clean(folder):
    """Remove all checkpoints, and the folder if nothing else is in it."""
    _sweep(folder)
    for serial in _serials(folder):
        shutil.rmtree(os.path.join(folder, f"{_NAME}{serial}"))
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _serials(folder):
    found = os.listdir(folder) if os.path.isdir(folder) else []
    return [int(name[len(_NAME) :]) for name in found if re.fullmatch(_NAME + r"\d+", name)]


def _sweep(folder):
    """Remove what processes that are gone left half written."""
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        left = re.fullmatch(rf"\.{_NAME}\d+\.(\d+)", name)
        if left and not os.path.exists(f"/proc/{left.group(1)}"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _files(folder):
    return [
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder)
        for name in sorted(names)
    ]


def _check_name(name):
    """A manifest vouches for the files beside it, and makes nobody read others."""
    if os.path.isabs(name) or ".." in name.split("/"):
        raise ValueError(f'the manifest names "{name}", which is not a file of the checkpoint')


def _described(path):
    size = crc = 0
    with open_file(path) as file:
        while part := file.read(1 << 20):
            size += len(part)
            crc = zlib.crc32(part, crc)
    return {"bytes": size, "crc32": crc}


def _force(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
