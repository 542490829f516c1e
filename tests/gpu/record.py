"""What a GPU has run last, record.json, and which sources have changed since: pending.txt says why."""

import json
import pathlib

import sources

HERE = pathlib.Path(__file__).resolve().parent
HEAD = """# Sources of CUDA that no GPU has run as they are, each with the reason. Written by
# tests/gpu/run --pending REASON, emptied by tests/gpu/run --take RECORD.
"""


def read_record(folder=HERE):
    path = folder / "record.json"
    return json.loads(path.read_text()) if path.exists() else {"sources": {}, "suites": {}}


def read_pending(folder=HERE):
    """The reason by source."""
    lines = (folder / "pending.txt").read_text().splitlines()
    pairs = (line.partition(": ")[::2] for line in lines if line and not line.startswith("#"))
    return {name: reason.strip() for name, reason in pairs}


def write_pending(reasons, folder=HERE):
    lines = (f"{name}: {reason}\n" for name, reason in sorted(reasons.items()))
    (folder / "pending.txt").write_text(HEAD + "".join(lines))


def changed(recorded, now):
    """Sources that are not as they were recorded, that are new or gone."""
    return sorted({name for name, _ in recorded.items() ^ now.items()})


SUITES = ("kernels", "operators", "models", "sanitizers")


def failures(record):
    """The tests that failed, and the suites that did not run."""
    missing = [name for name in SUITES if name not in record["suites"]]
    return missing + [name for suite in record["suites"].values() for name in suite["failures"]]


def some(names):
    """The first of them, and how many more."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def complaints(folder=HERE, now=None):
    """What keeps the record from standing for the sources: one sentence each."""
    record, reasons = read_record(folder), read_pending(folder)
    differ = changed(record["sources"], sources.hashes() if now is None else now)
    unsaid = [name for name in differ if not reasons.get(name)]
    stale = [name for name in reasons if name not in differ]
    if unsaid:
        yield (
            f"no GPU has run {some(unsaid)} as it is now: run tests/gpu/run on one and take its "
            "record, or say why not yet by tests/gpu/run --pending REASON"
        )
    if stale:
        yield f"tests/gpu/pending.txt names {some(stale)}, which is as it was recorded: take it out"
    if record["sources"] and (failed := failures(record)):
        yield f"tests/gpu/record.json is of a run in which {some(failed)} failed"


def put_off(reason, folder=HERE, now=None):
    """Gives `reason` to all that has changed and has none."""
    known = read_pending(folder) if (folder / "pending.txt").exists() else {}
    differ = changed(read_record(folder)["sources"], sources.hashes() if now is None else now)
    write_pending({name: known.get(name) or reason for name in differ}, folder)


def take(path, folder=HERE, now=None):
    """Makes the record at `path` the one of this tree; what has changed since it was made stays
    pending. Refuses one with failures."""
    record = json.loads(pathlib.Path(path).read_text())
    if failed := failures(record):
        raise SystemExit(f"{path} is of a run in which {some(failed)} failed: nothing was taken")
    (folder / "record.json").write_text(json.dumps(record, indent=1) + "\n")
    put_off("changed after the run", folder, now)
