"""``python -m paddle.compat report FILE...`` and ``python -m paddle.compat table``."""

import argparse
import sys

from . import _document, _report


def main(arguments=None):
    """0 where all that the programs use is here, 1 where something is missing, 2 for no program."""
    parser = argparse.ArgumentParser(
        prog="python -m paddle.compat", description="Which names of Paddle Flotilla has."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="what programs use, and whether it is here")
    report.add_argument("files", nargs="+", metavar="FILE")
    commands.add_parser("table", help="what docs/compatibility.md holds")
    options = parser.parse_args(arguments)
    if options.command == "table":
        sys.stdout.write(_document.document())
        return 0
    try:
        reports = [_report.lines(path) for path in _report.with_modules(options.files)]
    except (OSError, SyntaxError, ValueError) as error:
        print(f"not a program: {error}", file=sys.stderr)
        return 2
    print("\n\n".join("\n".join(lines) for lines, _ in reports))
    return 0 if all(whole for _, whole in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
