"""All-reduces of float32 between processes of this host: Flotilla beside PyTorch's Gloo.

Shared: in memory of World::allocate(), call after call. Just written: the median of calls before
which every rank wrote its values, as training does. A rank of Flotilla reads the bytes once and
writes them once, as a memcpy does; the last column is how near it comes to one that all ranks make
at the same time.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build" / "dev" / "bin" / "bench_comm"
GOALS = {4 << 10: 100, 256 << 10: 20, 4 << 20: 8, 100 << 20: 8}  # bytes -> times PyTorch, 2 ranks
LIMIT = 600


def lines_of(text):
    """{(what, bytes): microseconds} of the JSON lines in `text`."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(line["what"], line["bytes"]): line["us"] for line in found}


def flotilla(ranks, seconds):
    fleetrun = Path(sys.executable).parent / "fleetrun"
    command = [fleetrun, "--quiet", f"--nproc_per_node={ranks}", PROGRAM, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"bench_comm failed:\n{done.stderr}")
    return lines_of(done.stdout)


def as_torch_ranks(command, ranks):
    """What each of `ranks` processes of PyTorch printed."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    processes = []
    for rank in range(ranks):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                       "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}  # fmt: skip
        words = [str(word) for word in command]
        processes.append(
            subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        )
    return [process.communicate(timeout=LIMIT)[0] for process in processes]


def pytorch(python, ranks, seconds):
    return lines_of(as_torch_ranks([python, HERE / "torch_collectives.py", seconds], ranks)[0])


def run(quick, torch, show, emit):
    seconds = 0.1 if quick else 0.3
    for ranks in (2, 4):
        best = {}
        for _ in range(1 if quick else 3):
            found = flotilla(ranks, seconds)
            if torch.exists():
                found.update(pytorch(torch, ranks, seconds))
            for key, value in found.items():
                best[key] = min(value, best.get(key, value))
        rows = []
        for size in sorted({size for _, size in best}):
            kinds = ("shared", "fresh", "own", "memcpy")
            shared, fresh, own, copy = (best[what, size] for what in kinds)
            rival = best.get(("pytorch", size))
            ratio = f"{rival / shared:.1f}" if rival else "-"
            goal = GOALS.get(size) if ranks == 2 else None
            rows.append((
                f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB",
                f"{shared:.1f}", f"{fresh:.1f}", f"{own:.1f}", f"{rival:.1f}" if rival else "-",
                ratio + (f" (goal: {goal})" if goal else ""), f"{100 * copy / shared:.0f} %",
            ))  # fmt: skip
            emit(case="comm", ranks=ranks, bytes=size, unit="us", shared=shared, fresh=fresh,
                 own=own, memcpy=copy, pytorch=rival)  # fmt: skip
        columns = ("µs, shared", "just written", "own memory", "PyTorch", "times PyTorch",
                   "of memcpy")  # fmt: skip
        show(f"All-reduce of float32, {ranks} ranks on this host", rows, columns)
