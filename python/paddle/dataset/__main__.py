"""Lists the data sets on this machine, and downloads or generates missing ones.

    python -m paddle.dataset --list
    python -m paddle.dataset --generate flowers
    python -m paddle.dataset --fetch mnist
"""

import argparse
import os
import sys

from . import _generate, _sets, common


def _size(folder, names):
    size = sum(
        os.path.getsize(path)
        for path in (os.path.join(folder, name) for name in names)
        if os.path.exists(path)
    )
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _row(name):
    one = _sets.SETS[name]
    found = _sets.look(name, common.DATA_HOME)
    if found is not None:
        return name, found.origin, _size(found.folder, one.names), found.folder
    if _sets.is_made(name):
        folder = _generate.folder_of(name)
        return name, "generated", _size(folder, one.names), folder
    home = os.path.join(common.DATA_HOME, one.module)
    present = [n for n in one.names if os.path.exists(os.path.join(home, n))]
    if present:
        return name, "incomplete", _size(home, present), home
    return name, "missing", "-", home


def _list():
    rows = [("set", "state", "size", "folder"), *map(_row, _sets.SETS)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for name, state, size, folder in rows:
        print(f"{name:<{widths[0]}}  {state:<{widths[1]}}  {size:>{widths[2]}}  {folder}")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m paddle.dataset", description=__doc__)
    names = list(_sets.SETS)
    parser.add_argument(
        "--list", action="store_true", help="what is cached, generated, incomplete or missing"
    )
    made = [name for name in names if _sets.SETS[name].generate is not None]
    parser.add_argument("--generate", metavar="NAME", choices=made, help="make a set here")
    parser.add_argument("--fetch", metavar="NAME", choices=names, help="find, download or make it")
    options = parser.parse_args(arguments)
    if options.generate:
        print(_sets.made(options.generate))
    elif options.fetch:
        found = _sets.locate(options.fetch, common.DATA_HOME)
        print(f"{found.folder} ({found.origin})")
    else:
        _list()
    return 0


if __name__ == "__main__":
    sys.exit(main())
