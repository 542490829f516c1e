"""The documents of $FLT_SPEC_DIR, cut by the structure of their text: programs, commands, output.

    Markdown            ``` LANGUAGE         reStructuredText   .. code-block:: LANGUAGE
                        lines
                        ```                                        lines that are indented further
    within a sentence   `words`, ``words``, :code:`words`

A block in Python is a program. Another block is commands if each of its lines begins with a program
that documents call, behind variables that are set; otherwise it shows what is printed.
"""

import dataclasses
import os
import pathlib
import re
import textwrap

import pytest

SPEC = os.environ.get("FLT_SPEC_DIR")
NUMBERS = ["000", "001", "002", "003", "004"]
CALLED = "bash curl fleetrun git mpirun pip pip3 python python2 python3 sh tar unzip wget".split()

FENCE = re.compile(r"^\s*```\s*(.*?)\s*$")
DIRECTIVE = re.compile(r"^(\s*)\.\. code(?:-block)?::\s*(\S*)\s*$")
INLINE = re.compile(r"(`{1,2})([^`]+)\1")
ASSIGNMENTS = re.compile(r"(?:\w+=\S*\s+)*")

# Words in sentences that look like commands: (document, all of the words), and what they are.
NOT_RUN = {
    ("001", r"fleetrun [^ -~]+"): "the title of another document",
    ("002", r"\S+ -m [\w.]+"): "names the launcher without a script; the whole command follows",
}


@dataclasses.dataclass(frozen=True)
class Block:
    document: str
    line: int  # of its first line
    language: str
    text: str


@dataclasses.dataclass(frozen=True)
class Command:
    document: str
    line: int
    text: str  # for a shell; begins with the assignments that stand before it in its block
    added: bool = False  # by a test: the document prints the program, but no command

    def reason_not_to_run(self):
        for (number, words), reason in NOT_RUN.items():
            if number == self.document and re.fullmatch(words, self.text):
                return reason
        return None


def needed():
    """Skips the test where there are no documents."""
    if not SPEC:
        pytest.skip("FLT_SPEC_DIR does not say where the printed programs are")


def lines_of(number):
    needed()
    (path,) = pathlib.Path(SPEC).glob(f"{number}_*.txt")
    return path.read_text().splitlines()


def outside_and_blocks(number):
    """The (line number, line) that stand in no block, and the blocks."""
    lines, outside, blocks, at = lines_of(number), [], [], 0
    while at < len(lines):
        fence, directive = FENCE.match(lines[at]), DIRECTIVE.match(lines[at])
        begin = at + 1
        if fence:
            end = next(i for i in range(begin, len(lines)) if lines[i].strip() == "```")
            at = end + 1
            language = fence.group(1).removeprefix("code::")
        elif directive:
            deeper = len(directive.group(1)) + 1
            end = at = next(
                (i for i in range(begin, len(lines)) if lines[i][:deeper].strip()), len(lines)
            )
            language = directive.group(2)
        else:
            outside.append((at + 1, lines[at]))
            at += 1
            continue
        while not lines[begin].strip():
            begin += 1
        text = textwrap.dedent("\n".join(lines[begin:end])).rstrip() + "\n"
        blocks.append(Block(number, begin + 1, language, text))
    return outside, blocks


def programs(number):
    blocks = outside_and_blocks(number)[1]
    return [block for block in blocks if block.language in ("python", "py")]


def logical_lines(block):
    """(line number, text): a line that ends in a backslash goes on in the next."""
    begin, parts = block.line, []
    for at, line in enumerate(block.text.splitlines(), block.line):
        if line.strip():
            begin = begin if parts else at
            parts.append(line)
            if not line.endswith("\\"):
                yield begin, "\n".join(parts)
                parts = []


def calls(text):
    """The program that a line of a shell calls: "" if it only sets variables, None if none is known."""
    words = (text + " ")[ASSIGNMENTS.match(text + " ").end() :].replace("\\", " ").split()
    if not words:
        return ""
    return words[0] if words[0] in CALLED else None


def is_output(block):
    in_shell = all(calls(line) is not None for _, line in logical_lines(block))
    return block.language not in ("python", "py") and not in_shell


def outputs(number):
    return [block for block in outside_and_blocks(number)[1] if is_output(block)]


def commands(number):
    """All commands of a document, in its order."""
    outside, blocks = outside_and_blocks(number)
    found = []
    for block in blocks:
        if block.language in ("python", "py") or is_output(block):
            continue
        assignments = []
        for line, text in logical_lines(block):
            if calls(text):
                found.append(Command(number, line, "\n".join([*assignments, text])))
            else:
                assignments.append(text)
    for line, text in outside:
        for _, words in INLINE.findall(text):
            if calls(words) and " " in words.strip():
                found.append(Command(number, line, words.strip()))
    return sorted(found, key=lambda command: command.line)


def command(number, key):
    """The one command of a document that holds `key` and is to be run."""
    (found,) = (c for c in commands(number) if key in c.text and not c.reason_not_to_run())
    return found
