"""Text to records, on one core: the multi-slot format and Criteo's click log.

Flotilla's parsers alone, its QueueDataset, and real Paddle's QueueDataset on the same files in the
same run; rounds go round them, and the best counts. Paddle has no parser for Criteo's lines: there
its users run a Python generator as the pipe command, and so does the row with that name here.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from . import Row

HERE = Path(__file__).resolve().parent
SLOTS = "dense_input:f32:13," + "".join(f"C{i}:i64:seq," for i in range(1, 27)) + "label:i64"
MULTI_SLOT = "Multi-slot text, 28 slots"
CRITEO = "Criteo click log"
GOAL, RATIO = 150, 3  # MB/s a core, and times Paddle


def cases(quick):
    from run import FLOTILLA, PADDLE

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        log, text, short = write_files(folder, 20_000 if quick else 100_000)
        rounds = 3 if quick else 5
        yield from compare(MULTI_SLOT, text, "cat", rounds, folder, FLOTILLA, PADDLE)
        yield from compare(CRITEO, log, None, rounds, folder, FLOTILLA, PADDLE)
        yield from generators(short, folder, FLOTILLA, PADDLE)


def compare(title, file, command, rounds, folder, ours, theirs):
    """The parser and, where there is a command that prints slots, QueueDataset on both sides."""
    rates = {"parser": []}
    sides = {"Flotilla, QueueDataset": ours, "Paddle, QueueDataset": theirs} if command else {}
    failed = {name: side.absent() for name, side in sides.items()}
    for _ in range(rounds):
        rates["parser"].append(parser_rate(title, file))
        for name, side in sides.items():
            if failed[name]:
                continue
            rate, failed[name] = queue_rate(side, file, command, folder)
            rates.setdefault(name, []).append(rate)
    best = max(rates["parser"])
    yield Row(title, "Flotilla, parser, 1 core", best, "MB/s", goal=GOAL)
    for name in sides:
        if failed[name]:
            yield Row(title, f"{name}, {command}", None, "MB/s", failed[name])
            continue
        yield Row(title, f"{name}, {command}", max(rates[name]), "MB/s")
    paddle = rates.get("Paddle, QueueDataset")
    if paddle and not failed["Paddle, QueueDataset"]:
        own = rates.get("Flotilla, QueueDataset", [best])
        goal = RATIO * max(paddle)
        yield Row(title, "Flotilla's best, for its goal", max(best, *own), "MB/s",
                  f"{max(best, *own) / max(paddle):.1f} times Paddle", goal)  # fmt: skip


def generators(file, folder, ours, theirs):
    """The same Python generator as a pipe command on both sides, its start included."""
    for side in (ours, theirs):
        command = f"{side.python} {HERE / 'text_reader.py'}"
        rate, failed = None, side.absent()
        if not failed:
            rate, failed = queue_rate(side, file, command, folder)
        yield Row(CRITEO, f"{side.name}, QueueDataset, Python generator", rate, "MB/s", failed)


def parser_rate(title, file):
    import time

    import _flotilla as core

    start = time.perf_counter()
    report = core.check_data(str(file), slots=SLOTS, format=format_of(title))
    seconds = time.perf_counter() - start
    if report.problems:
        sys.exit(report.problems[0])
    return file.stat().st_size / seconds / 1e6


def format_of(title):
    return "criteo" if title == CRITEO else "multi_slot"


def queue_rate(side, file, command, folder):
    """MB/s and "", or None and why not."""
    done = subprocess.run(
        [side.python, HERE / "text_side.py", file, command],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("seconds ")]
    if done.returncode or not lines:
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return None, why[:100]
    return file.stat().st_size / float(lines[-1].split()[1]) / 1e6, ""


def write_files(folder, records):
    """A click log, the same as multi-slot text, and its beginning."""
    generator = random.Random(7)
    words = [f"{generator.getrandbits(32):08x}" for _ in range(10_000)]
    lines = []
    for _ in range(min(records, 5_000)):
        integers = [str(int(generator.expovariate(0.02))) for _ in range(13)]
        blanks = [text if generator.random() < 0.8 else "" for text in integers]
        categories = [
            generator.choice(words) if generator.random() < 0.95 else "" for _ in range(26)
        ]
        lines.append("\t".join([str(generator.randint(0, 1)), *blanks, *categories]) + "\n")
    sys.path[:0] = [str(HERE)]
    from text_reader import text_of

    log, text, short = folder / "criteo", folder / "multi_slot", folder / "short"
    for file, block in ((log, "".join(lines)), (text, "".join(map(text_of, lines)))):
        with file.open("w") as out:
            for _ in range(max(1, records // len(lines))):
                out.write(block)
    short.write_text("".join(lines))
    return log, text, short
