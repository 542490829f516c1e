"""Records which examples in the docstrings of Paddle run: there, and in Flotilla.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_examples.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_examples.py
    .venv/bin/python tools/oracle/record_examples.py           # after both

Writes tests/oracle/recorded/examples_<version>.txt, and in Flotilla examples_here_<version>.txt and
docs/examples.md: names and outcomes, no code. `--show NAME` prints an example, `--only WORD` runs
those whose name contains it and prints what they do, both without writing anything.
"""

import argparse
import collections
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "oracle")]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import examples  # noqa: E402
import examples_page  # noqa: E402


def main():
    arguments = argparse.ArgumentParser(description="Records which examples of Paddle run.")
    arguments.add_argument("--show", metavar="NAME")
    arguments.add_argument("--only", metavar="WORD", default="")
    arguments.add_argument("--release", choices=examples.RELEASES, action="append")
    chosen = arguments.parse_args()
    import paddle

    here = examples.HERE
    for release in (chosen.release or examples.RELEASES) if here else [paddle.__version__]:
        codes = examples.codes(release)
        if chosen.show:
            print(codes.get(chosen.show, ""))
            continue
        record(release, codes, here, chosen.only)
    if here and not chosen.show and not chosen.only:
        (ROOT / "docs" / "examples.md").write_text(examples_page.text(), encoding="utf-8")


def record(release, codes, here, only):
    if here:
        there = examples.read(examples.recorded(release))
        codes = {name: code for name, code in codes.items() if there.get(name) == "ran"}
    codes = {name: code for name, code in codes.items() if only in name}
    outcomes = examples.run_all(codes)
    if only:
        for name, outcome in sorted(outcomes.items()):
            print(name, outcome)
        return
    if here:
        examples.write(examples.recorded_here(release), outcomes)
    else:
        plain = {name: outcome.split(":")[0] for name, outcome in outcomes.items()}
        examples.write(examples.recorded(release), plain)
    counts = collections.Counter(outcome.split()[0] for outcome in outcomes.values())
    print(release, "here" if here else "there", dict(counts))


if __name__ == "__main__":
    main()
