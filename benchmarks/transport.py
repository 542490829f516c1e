"""How many requests a second travel between two processes of this host, one at a time."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build" / "dev" / "bin" / "bench_rpc"
KINDS = ("messages", "shared")


def run(quick, show, emit):
    rates = {}
    for _ in range(1 if quick else 3):
        done = subprocess.run([PROGRAM, "1"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"bench_rpc ended with status {done.returncode}: {done.stderr}")
        for line in map(json.loads, done.stdout.splitlines()):
            rates.setdefault((line["bytes"], line["payloads"]), []).append(line["value"])
    for (size, kind), found in rates.items():
        emit(case=f"rpc {size} {kind}", side="Flotilla", unit="round trips/s", best=max(found))
    table = []
    for size in sorted({size for size, _ in rates}):
        cells = [f"{max(rates[size, kind]):.0f}" for kind in KINDS]
        table.append((f"{size:,} bytes there and back", *cells))
    show("Requests to a server on this host, round trips/s", table,
         ("in messages", "in shared memory"))  # fmt: skip
