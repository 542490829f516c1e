"""`./bench data`: how fast data comes from files and memory to the feed.

A topic is a module of this package with a function ``cases(quick)`` that measures and yields rows.
Rows of one title form a table; what is compared is measured in the same run. A topic whose module
is not there is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from itertools import groupby

TOPICS = ("loader", "text", "images", "dataset")


@dataclass(frozen=True)
class Row:
    """One measurement: the larger the value the better, save where the unit is a time."""

    title: str
    name: str
    value: float | None  # None: could not be measured; the note says why
    unit: str
    note: str = ""
    goal: float | None = None  # what the value must reach


def run(topics, quick, show, emit):
    """Measures the topics, prints a table for each title; returns the rows that miss their goal."""
    missed = []
    for topic in topics or TOPICS:
        if importlib.util.find_spec(f"{__name__}.{topic}") is None:
            continue
        rows = list(importlib.import_module(f"{__name__}.{topic}").cases(quick))
        for row in rows:
            emit(topic=topic, **vars(row))
        for title, group in groupby(rows, key=lambda row: row.title):
            group = list(group)
            show(title, [cells(row) for row in group], (group[0].unit, "goal", ""))
        missed += [row for row in rows if row.goal is not None and (row.value or 0) < row.goal]
    return missed


def cells(row):
    value = "-" if row.value is None else f"{row.value:.4g}"
    goal = "" if row.goal is None else f">= {row.goal:.4g}"
    return row.name, value, goal, row.note
