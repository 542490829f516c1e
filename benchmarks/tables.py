"""How fast the sparse tables of a parameter server are by themselves, on one core."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build" / "dev" / "bin" / "bench_tables"
MILLION = 1e6
GOALS = {("sgd", "pull", "zipf"): 10, ("adam", "pull", "zipf"): 10, ("adam", "push", "zipf"): 4}
KINDS = ("pull", "pull once", "push", "push once")


def measure(rows, seconds):
    """What the program prints: one dictionary per measurement."""
    done = subprocess.run([PROGRAM, str(rows), str(seconds)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_tables ended with status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(quick, show, emit):
    for rows in (1_000_000,) if quick else (1_000_000, 10_000_000):
        found = measure(rows, 0.5 if quick else 2)
        for line in found:
            unit = "bytes/row" if line["what"] == "bytes" else "rows/s"
            case = f"ps {line['rule']} {line['what']} {line['keys']} {rows}"
            emit(case=case, side="Flotilla", unit=unit, best=line["value"])
        values = {(line["rule"], line["what"], line["keys"]): line["value"] for line in found}
        table = []
        for rule in ("sgd", "adam"):
            for keys in ("zipf", "uniform"):
                cells = [f"{values[rule, kind, keys] / MILLION:.1f}" for kind in KINDS]
                table.append((f"{rule}, {keys} keys", *cells))
        title = f"Sparse table of {rows:,} rows, width 10, batches of 13,312 keys, one core"
        show(title, table, [f"M {kind}/s" for kind in KINDS])
        for rule in ("sgd", "adam"):
            size, rate = values[rule, "bytes", "all"], values[rule, "create", "all"] / MILLION
            print(f"  {rule}: {size:.0f} bytes a row, {rate:.1f} M rows made a second")
        rate = values["adam", "logged push once", "zipf"] / MILLION
        print(f"  adam, zipf keys, through the log: {rate:.1f} M push once/s")
        for (rule, kind, keys), goal in GOALS.items():
            rate = values[rule, kind, keys] / MILLION
            if rate < goal:
                print(f"  missed: {rule} {kind}, {keys}: {rate:.1f} M rows/s, goal {goal}")
    print('\n  "once": a batch without repetitions, as workers send it')
