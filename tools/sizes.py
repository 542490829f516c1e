"""Prints how large the project is, and what a change adds.

    tools/sizes.py [--base REV] [--quiet]

Lines per folder, with those of tests apart, then the files over the budget of 400 lines. Fails if
a file is longer than 800. With --base, each folder also shows the lines it gained since REV.
--quiet prints only the files over the hard limit and one line of totals.
"""

import argparse
import collections
import pathlib
import subprocess
import sys

BUDGET, LIMIT = 400, 800
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".py", ".pyi", ".proto", ".cmake"}
NAMES = {"CMakeLists.txt", "demo", "test", "bench", "setup"}


def git(root, *words):
    return subprocess.run(
        ["git", "-C", str(root), *words], check=True, capture_output=True, text=True
    ).stdout


def counted(name):
    path = pathlib.PurePosixPath(name)
    return path.suffix in SUFFIXES or path.name in NAMES


def is_test(name):
    path = pathlib.PurePosixPath(name)
    return path.parts[0] == "tests" or path.stem.endswith("_test") or path.name.startswith("test_")


def folder_of(name):
    parts = pathlib.PurePosixPath(name).parts
    if len(parts) == 1:
        return "."
    deep = parts[0] in ("flotilla", "python", "examples") and len(parts) > 2
    return "/".join(parts[:2]) if deep else parts[0]


def line_counts(root):
    """Lines by file, of all files that git does not ignore."""
    names = git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    counts = {}
    for name in sorted(set(names)):
        path = root / name
        if counted(name) and path.is_file():
            counts[name] = path.read_bytes().count(b"\n")
    return counts


def line_counts_at(root, revision):
    counts = {}
    for name in git(root, "ls-tree", "-r", "--name-only", revision).splitlines():
        if counted(name):
            counts[name] = git(root, "show", f"{revision}:{name}").count("\n")
    return counts


def print_table(counts, before):
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for name, lines in counts.items():
        rows[folder_of(name)][1 if is_test(name) else 0] += lines
        rows[folder_of(name)][2] += lines
    for name, lines in (before or {}).items():
        rows[folder_of(name)][2] -= lines
    print(f"{'folder':24}{'source':>9}{'tests':>9}" + (f"{'change':>9}" if before else ""))
    total = [sum(column) for column in zip(*rows.values())]
    for folder, row in [*sorted(rows.items()), ("all", total)]:
        change = f"{row[2]:>+9}" if before else ""
        print(f"{folder:24}{row[0]:>9}{row[1]:>9}{change}")


def main():
    parser = argparse.ArgumentParser(description="Lines per folder, and files over the budget.")
    parser.add_argument("--base", help="also show what was added since this revision")
    parser.add_argument("--quiet", action="store_true", help="only what is over the limit")
    parser.add_argument("--root", type=pathlib.Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = options.root or pathlib.Path(__file__).resolve().parent.parent

    counts = line_counts(root)
    if not options.quiet:
        print_table(counts, line_counts_at(root, options.base) if options.base else None)
    too_long = 0
    for name, lines in sorted(counts.items(), key=lambda item: -item[1]):
        if lines > LIMIT:
            too_long += 1
            print(f"{name}: {lines} lines, more than {LIMIT}")
        elif lines > BUDGET and not options.quiet:
            print(f"{name}: {lines} lines, over the budget of {BUDGET}")
    print(
        f"{sum(counts.values())} lines in {len(counts)} files, {too_long} files over {LIMIT} lines"
    )
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
