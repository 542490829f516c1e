"""The sources that decide what a GPU computes, and their hashes: what a record is a record of.

    sources.py [TREE]       prints them as JSON
"""

import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = (".cu", ".cuh")
FOLDERS = {"cuda", "nccl"}  # what else only a build with CUDA compiles
FORMULAS = re.compile(r'^#include "(flotilla/ops/common/[^"]+)"', re.MULTILINE)


def files(tree=ROOT):
    """Every *.cu and *.cuh, all in folders of CUDA, and the headers of ops/common that those include,
    directly or not; relative to `tree`, sorted."""
    open_, found = [], set()
    for path in (tree / "flotilla").rglob("*.*"):
        name = path.relative_to(tree)
        if path.suffix in SUFFIXES or FOLDERS & set(name.parent.parts):
            open_.append(name.as_posix())
    while open_:
        name = open_.pop()
        if name in found or not (tree / name).exists():
            continue
        found.add(name)
        open_ += FORMULAS.findall((tree / name).read_text())
    return sorted(found)


def hashes(tree=ROOT):
    return {name: hashlib.sha256((tree / name).read_bytes()).hexdigest() for name in files(tree)}


if __name__ == "__main__":
    print(json.dumps(hashes(*map(pathlib.Path, sys.argv[1:2])), indent=1))
