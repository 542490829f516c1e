"""Reads the documents of the repository: their fenced blocks, the code in their lines, their links.

A block that cannot be run stands behind a line that says why:

    <!-- no-run: needs a cluster -->
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
NO_RUN = re.compile(r"<!--\s*no-run:\s*(.*?)\s*-->")
FENCE = re.compile(r"^(\s*)```(.*)$")


@dataclasses.dataclass
class Piece:
    """A block, a piece of code inside a line, or a link, and where it stands."""

    document: str  # relative to the repository
    line: int  # of the first line of the text
    words: tuple  # behind the fence: the language, then marks
    text: str
    reason: str = ""  # why it is not run

    def __str__(self):
        return f"{self.document}:{self.line}"

    @property
    def language(self):
        return self.words[0] if self.words else ""


def documents():
    top = ["README.md", "README.zh-CN.md", "CONTRIBUTING.md"]
    below = sorted((ROOT / "docs").rglob("*.md"))
    return [*top, *(path.relative_to(ROOT).as_posix() for path in below)]


def split(document):
    """The blocks of a document, and its other lines as (number, line)."""
    blocks, prose, opened, reason = [], [], None, ""
    for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
        fence, note = FENCE.match(line), NO_RUN.search(line)
        if opened is not None and fence:
            blocks.append(dataclasses.replace(opened, text="".join(opened.text)))
            opened = None
        elif opened is not None:
            opened.text.append(line + "\n")
        elif fence:
            words = tuple(fence.group(2).split())
            opened, reason = Piece(document, number + 1, words, [], reason), ""
        else:
            prose.append((number, line))
            if note and not note.group(1):
                raise ValueError(f"{document}:{number}: no-run needs a reason")
            reason = note.group(1) if note else "" if line.strip() else reason
    if opened is not None:
        raise ValueError(f"{opened}: the block is never closed")
    return blocks, prose


def blocks(*languages):
    """The blocks of all documents in one of `languages`, or all."""
    found = [block for document in documents() for block in split(document)[0]]
    return [block for block in found if not languages or block.language in languages]


def inline_code():
    """What stands between backticks, in lines outside of blocks."""
    for document in documents():
        for number, line in split(document)[1]:
            for code in re.findall(r"`([^`]+)`", line):
                yield Piece(document, number, (), code)


def links():
    for document in documents():
        for number, line in split(document)[1]:
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                yield Piece(document, number, (), target)
