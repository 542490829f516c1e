"""docs/compatibility.md, from the same table as the report."""

import textwrap

from . import _table

_HEAD = """\
# Which names of Paddle are here

Made by `python -m paddle.compat table > docs/compatibility.md`; a test compares them. Names are those that the modules of
Paddle 1.8.5 and 2.6.2 offer in `__all__`, and the fleet's. A name that is here does what Paddle's does in static programs, or
refuses what it cannot do in one sentence; [differences.md](differences.md) lists where results differ on purpose. For a program of yours:

```sh
python -m paddle.compat report train.py
```

| module | 1.8.5 | 2.6.2 |
| --- | --- | --- |
"""


def document():
    """The text of the page."""
    counts = {}  # module to one (here, all) for each era
    missing = {}
    for era in _table.RELEASES:
        for module, names in _table.modules(era).items():
            here = [name for name in names if _table.has(f"{module}.{name}")]
            counts.setdefault(module, {})[era] = len(here), len(names)
            if here:
                missing.setdefault(module, set()).update(set(names) - set(here))
    rows = [_row(f"`{module}`", by_era) for module, by_era in sorted(counts.items())]
    total = {
        era: tuple(sum(one[era][i] for one in counts.values() if era in one) for i in (0, 1))
        for era in _table.RELEASES
    }
    parts = [_HEAD, *rows, _row("**all**", total), _TAIL]
    for module, names in sorted(missing.items()):
        if names:
            listed = ", ".join(f"`{name}`" for name in sorted(names))
            parts.append(
                textwrap.fill(f"- `{module}`: {listed}", 118, subsequent_indent="  ") + "\n"
            )
    return "".join(parts)


_TAIL = """
## What is missing in modules that are here

"""


def _row(module, by_era):
    cells = [
        f"{by_era[era][0]} of {by_era[era][1]}" if era in by_era else "" for era in _table.RELEASES
    ]
    return f"| {module} | {' | '.join(cells)} |\n"
