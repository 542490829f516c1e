#!/usr/bin/env python3
"""Picks the programs that run_program_fuzz bends, out of all that the tests of operators run.

    FLT_RECORD_CASES=all.txt build/dev/bin/ops_test     # and passes_test; they append
    tests/fuzz/pick_cases.py all.txt > tests/fuzz/cases.txt

For every op type the smallest program that holds it is taken, for each set of slots that it is used
with.
"""

import re
import sys

MOST = 12000  # characters of a program with its tensors

OP = re.compile(r"^(\w+)\((.*?)\)(?: -> (.*?))?(?: \{.*\})?$", re.MULTILINE)
FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")
# What no kernel reads.
NOISE = re.compile(
    r"(?:op_role|op_role_var|op_callstack|op_namescope|op_device)=(?:\[[^\]]*\]|[^,}]*)(?:, )?"
)


def cases_of(text):
    return [part + "\nend\n" for part in text.split("\nend\n") if part.strip()]


def cleaned(case):
    lines = []
    for line in case.split("\n"):
        if OP.match(line):
            line = NOISE.sub("", line).replace(", }", "}").replace(" {}", "")
        elif re.match(r"(feed|state) \S+ f(32|64) ", line):
            line = FRACTION.sub(lambda found: f"{float(found[0]):.3g}", line)
        lines.append(line)
    return "\n".join(lines)


def uses_of(case):
    """(op type, the slots it is used with) of every op."""
    uses = set()
    for kind, inputs, outputs in OP.findall(case):
        slots = re.findall(r"([\w@]+)=", inputs) + re.findall(r"([\w@]+)=", outputs or "")
        uses.add((kind, tuple(sorted(slots))))
    return uses


def main():
    cases = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            cases += [cleaned(case) for case in cases_of(file.read())]
    small = sorted({case for case in cases if len(case) <= MOST}, key=lambda c: (len(c), c))
    found = set()
    for case in small:
        uses = uses_of(case)
        if not uses <= found:
            print(case, end="")
        found |= uses
    kinds = {kind for kind, _ in found}
    left_out = {kind for case in cases for kind, _ in uses_of(case)} - kinds
    print(f"{len(kinds)} op types; too large: {sorted(left_out)}", file=sys.stderr)


if __name__ == "__main__":
    main()
