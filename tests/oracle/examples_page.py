"""docs/examples.md: which examples of Paddle's docstrings do not run here, and why."""

import collections
import re

import examples

INTRO = """\
# Examples of Paddle that do not run here

Made by `tools/oracle/record_examples.py`; a test compares them. It takes the examples in the docstrings of both releases that build
static programs (1.8.5: all that do not use `dygraph`; 2.6.2: those that call `paddle.enable_static()`), runs each there, and those that
run there here, each in a process of its own. What follows are the others, by reason.

| release | static examples | run in Paddle | of those run in Flotilla |
| --- | --- | --- | --- |
"""

# The reasons, in the order of the page, and the errors that mean them.
REASONS = [
    ("Something that is refused", r"NotImplementedError|trains static programs only"),
    ("The package `six` is not installed", r"No module named 'six'"),
    (
        "A name that is not here",
        r"is not implemented|has no \"|has no attribute|cannot import name|No module named",
    ),
    ("A rule that is stricter here", r""),
]
MODULE = re.compile(r"(?:module )?(paddle[\w.]*) has no \"(\w+)\"")
NAME = re.compile(r"(paddle[\w.]*\w) is not implemented")


def text():
    """The page, from what is recorded."""
    counts, tables = [], []
    for release in examples.RELEASES:
        there = examples.read(examples.recorded(release))
        here = examples.read(examples.recorded_here(release))
        ran = [list(found.values()).count("ran") for found in (there, here)]
        counts.append(f"| {release} | {len(there)} | {ran[0]} | {ran[1]} |\n")
        failed = {name: error for name, error in here.items() if error != "ran"}
        tables.append(f"\n## {release}\n" + "".join(_tables(failed)))
    return INTRO + "".join(counts) + "".join(tables)


def _tables(failed):
    by_reason = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, error in sorted(failed.items()):
        error = error.split(" ", 1)[-1]
        reason = next(words for words, pattern in REASONS if re.search(pattern, error))
        by_reason[reason][_short(error)].append(name)
    for reason, _ in REASONS:
        if reason in by_reason:
            rows = sorted(by_reason[reason].items(), key=lambda row: (-len(row[1]), row[0]))
            yield f"\n### {reason}\n\n| what is said | examples |\n| --- | --- |\n"
            for said, names in rows:
                yield f"| {said} | {', '.join(f'`{name}`' for name in names)} |\n"


def _short(error):
    """The name that is missing, or the sentence without the kind of error."""
    module, name = MODULE.search(error), NAME.search(error)
    if module:
        return f"`{module.group(1)}.{module.group(2)}`"
    if name:
        return f"`{name.group(1)}`"
    error = re.sub(r"^[\w.]+: ", "", error)
    return re.sub(r"([|<>*_])", r"\\\1", error)
