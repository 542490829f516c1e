"""The guides, docs/guide/LANGUAGE/*.md, as sessions that can be run, and so the README's first program.

A block ```python NAME.py or ```sh NAME.sh is a file that the reader writes. A block ```console shows
commands behind "$ " and what they print; "..." stands for lines that are left out. Neighbouring blocks
```console host=1 and ```console host=2 are terminals on two hosts, used at the same time.
"""

import dataclasses
import os
import re
import signal
import subprocess
import sys

import watched
from commands import BIN
from documents import ROOT, split

GUIDES = ROOT / "docs/guide"
READMES = {"en": "README.md", "zh": "README.zh-CN.md"}
LIMIT = 120  # seconds; a block that does not get on for longer hangs
FREE = re.compile(
    r"\d+(?:\.\d+)?(?= (?:s|ms|us|%)\b|%| %)|(?<![.\d])\d{4,}(?![.\d])"
)  # times, ports, processes
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def guides(language):
    return sorted(path.name for path in (GUIDES / language).glob("*.md"))


def is_followed(block):
    """Whether a block belongs to a session: all of a guide do, of a README files and commands with output."""
    if block.document.startswith("docs/guide/"):
        return True
    is_file = block.language == "python" and len(block.words) > 1
    return block.document in READMES.values() and (is_file or block.language == "console")


def blocks_of(language, name):
    """What is followed in a guide, or in the README of that language."""
    page = READMES[language] if name == READMES["en"] else f"docs/guide/{language}/{name}"
    return [block for block in split(page)[0] if is_followed(block)]


@dataclasses.dataclass
class Command:
    text: str
    shown: list  # the lines that it prints


def commands_of(block):
    found = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif not found:
            raise ValueError(f"{block}: a session begins with a command behind '$ '")
        elif found[-1].text.endswith("\\") and not found[-1].shown:
            found[-1].text += "\n" + line
        else:
            found[-1].shown.append(line)
    return found


def same_line(shown, printed):
    """Whether lines differ in times, ports and processes at most, and in losses by 0.02 or 2 %: other
    processors add up in another order."""
    parts, values = [], []
    for line in (shown, printed):
        line = " ".join(FREE.sub("#", line).split())
        parts.append(NUMBER.sub("#", line))
        values.append(NUMBER.findall(line))
    return parts[0] == parts[1] and all(map(same_number, *values))


def same_number(shown, printed):
    if "." not in shown:
        return shown == printed
    a, b = float(shown), float(printed)
    return abs(a - b) <= 0.02 * max(1, abs(a), abs(b))


def segments(shown):
    """Runs of lines between "..."."""
    found = [[]]
    for line in shown:
        if line.strip() == "...":
            found.append([])
        else:
            found[-1].append(line)
    return found


def difference(shown, printed):
    """None if `printed` is what is `shown`, else what is not there."""
    first, *rest = segments(shown)
    if not rest and len(first) != len(printed):
        return f"it prints {len(printed)} lines, but {len(first)} are shown"
    position = 0
    for number, segment in enumerate([first, *rest]):
        last = len(printed) - len(segment)
        starts = range(position, last + 1)
        if number == 0:
            starts = starts[:1]
        elif number == len(rest):
            starts = starts[-1:]  # the last lines
        hits = (s for s in starts if all(map(same_line, segment, printed[s:])))
        position = next(hits, None)
        if position is None:
            return "these lines are shown but not printed:\n" + "\n".join(segment)
        position += len(segment)
    return None


def environment():
    """What a reader has: our commands, generated data, nothing of a job."""
    ours = ("PADDLE_", "FLT_", "FLAGS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{BIN}:{os.path.dirname(sys.executable)}:{kept['PATH']}"
    never = str(ROOT / "build" / "no-data")
    return {
        **kept,
        "PATH": path,
        "FLT_PYTHON": sys.executable,
        "FLT_DOWNLOAD": "0",
        "PADDLE_DATA_HOME": never,
    }


MARK = "-- end of command"


class Session:
    """A terminal in which the commands of a block are run, one after the other."""

    def __init__(self, block, folder, inside=()):
        self.block, self.commands = block, commands_of(block)
        script = "".join(f'{command.text}\necho "{MARK} $?"\n' for command in self.commands)
        self.process = subprocess.Popen(
            [*inside, "bash", "-c", script],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def close(self):
        """Ends what a failed test leaves behind."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def problems(self):
        """Waits for the end; one text for each command that does not do what is shown."""
        output, _ = watched.communicate(self.process, seconds=LIMIT)
        *outputs, rest = re.split(rf"{MARK} (\d+)\n", output)
        if len(outputs) != 2 * len(self.commands) or rest:
            yield f"{self.block}: the shell does not get to the end:\n{output}"
        for command, printed, status in zip(self.commands, outputs[::2], outputs[1::2]):
            problem = f"it exits with {status}" if status != "0" else None
            problem = problem or difference(command.shown, printed.splitlines())
            if problem:
                yield f"{self.block}: $ {command.text}\n{problem}\nit printed:\n{printed}"


def terminals(blocks):
    """Groups of blocks that run at the same time: one, or one for each host."""
    groups = []
    for block in blocks:
        host = next((int(w[5:]) for w in block.words if w.startswith("host=")), None)
        if host is None or host == 1:
            groups.append({})
        groups[-1][host] = block
    return groups
