"""Text to records, on one core: the multi-slot format and Criteo's click log.

Flotilla's parsers alone, its QueueDataset, and real Paddle's QueueDataset on the same files in the
same run; rounds go round them, and the best counts. Paddle has no parser for Criteo's lines: there
its users run a Python generator as the pipe command, and so does the row with that name here.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import Row

HERE = Path(__file__).resolve().parent
SLOTS = "dense_input:f32:13," + "".join(f"C{i}:i64:seq," for i in range(1, 27)) + "label:i64"
MULTI_SLOT = "Multi-slot text, 28 slots"
CRITEO = "Criteo click log"
GOAL, RATIO = 150, 3  # MB/s a core, and times Paddle


def cases(quick):
    from run import FLOTILLA, PADDLE

    rounds = 3 if quick else 5
    reader = HERE / "text_reader.py"
    with tempfile.TemporaryDirectory() as folder:
        log, text, short = write_files(Path(folder), 20_000 if quick else 100_000)
        generators = [(side, short, f"{side.python} {reader}") for side in (FLOTILLA, PADDLE)]
        yield from compare(
            MULTI_SLOT, text, [(FLOTILLA, text, "cat"), (PADDLE, text, "cat")], rounds, folder
        )
        yield from compare(
            CRITEO, log, [(FLOTILLA, log, "parser=criteo"), *generators], rounds, folder
        )


def compare(title, file, runs, rounds, folder):
    """The parser alone, then each side's QueueDataset; one that is absent or fails says why."""
    parser = []
    rates = {run: [] for run in runs}
    failed = {run: run[0].absent() for run in runs}
    for _ in range(rounds):
        parser.append(parser_rate(title, file))
        for run in runs:
            if not failed[run]:
                rate, failed[run] = queue_rate(*run, folder)
                rates[run].append(rate)
    yield Row(title, "Flotilla, parser alone, 1 core", max(parser), "MB/s", goal=GOAL)
    theirs = [rates[r] for r in runs if r[0].name == "Paddle" and not failed[r]]
    paddle = max(theirs[0]) if theirs else None
    for run in runs:
        side, _, command = run
        label = "Python generator" if command.endswith(".py") else command
        name = f"{side.name}, QueueDataset, {label}"
        if failed[run]:
            yield Row(title, name, None, "MB/s", failed[run])
            continue
        note, goal = "", None
        if side.name == "Flotilla" and paddle:
            note = f"{max(rates[run]) / paddle:.1f} times Paddle"
            # Two Python generators take the time of Python.
            goal = None if label == "Python generator" else RATIO * paddle
        yield Row(title, name, max(rates[run]), "MB/s", note, goal)


def parser_rate(title, file):
    """MB per second of a core's time, whatever else runs on the machine."""
    import _flotilla as core

    start = time.process_time()
    report = core.check_data(str(file), slots=SLOTS, format=format_of(title))
    seconds = time.process_time() - start
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
