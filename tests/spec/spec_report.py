"""build/spec-report.md: each command of the documents and what came of it, in one table."""

import dataclasses
import os
import pathlib

import printed

PATH = pathlib.Path(__file__).resolve().parents[2] / "build" / "spec-report.md"

HEAD = """# The commands of the documents

Written by `tests/spec`. A command runs as it is printed, behind a prelude that defines what its document leaves undefined,
on sizes that the tests choose. A command in brackets is ours: the document prints a program and no command for it.

| document | line | command | outcome | what was checked | seconds |
| --- | ---: | --- | --- | --- | ---: |
"""


@dataclasses.dataclass
class Row:
    command: printed.Command
    outcome: str  # "passed", "failed: why", "skipped: why", "not run: why"
    checked: str = ""
    seconds: float = 0.0

    def __str__(self):
        text = "; ".join(self.command.text.replace("\\\n", " ").splitlines())
        text = " ".join(text.split())
        shown = f"(`{text}`)" if self.command.added else f"`{text}`"
        seconds = f"{self.seconds:.1f}" if self.seconds else ""
        cells = [
            self.command.document,
            str(self.command.line),
            shown,
            self.outcome,
            " ".join(self.checked.split()),
            seconds,
        ]
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def unfollowed(rows):
    """A row for each command that no test has run."""
    seen = {(row.command.document, row.command.line) for row in rows}
    for number in printed.NUMBERS:
        for command in printed.commands(number):
            if (number, command.line) not in seen:
                why = command.reason_not_to_run() or "its test was not selected"
                yield Row(command, f"not run: {why}")


def write(rows, path=PATH):
    """Replaces the report at once, so that nobody reads half of it."""
    rows = sorted(
        [*rows, *unfollowed(rows)], key=lambda row: (row.command.document, row.command.line)
    )
    path.parent.mkdir(exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}")
    half.write_text(HEAD + "\n".join(map(str, rows)) + "\n")
    half.replace(path)
