"""Data-parallel training on this host: Flotilla beside PyTorch's DistributedDataParallel over Gloo.

Every rank has a thread and a whole batch. The best of three rounds is shown.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from collectives import LIMIT, as_torch_ranks

HERE = Path(__file__).resolve().parent
RANKS = 2


def seconds_of(text, what):
    for line in text.splitlines():
        if line.startswith("{"):
            return json.loads(line)["seconds"]
    sys.exit(f"{what} failed:\n{text}")


def flotilla(case, ranks, threads, steps):
    script = [HERE / "replica.py", "paddle_side", case, "", threads, steps, int(ranks > 1)]
    command = [sys.executable, *script]
    if ranks > 1:
        fleetrun = Path(sys.executable).with_name("fleetrun")
        command = [fleetrun, "--quiet", f"--nproc_per_node={ranks}", *script]
    environment = {**os.environ, "FLT_THREADS": str(threads)}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                          text=True, timeout=LIMIT)  # fmt: skip
    return seconds_of(done.stdout, f"{case} on {ranks} ranks: {done.stderr}")


def pytorch(python, case, variant, steps):
    command = [python, HERE / "replica.py", "torch_side", case, variant, 1, steps, 1]
    return seconds_of(as_torch_ranks(command, RANKS)[0], f"{case} of PyTorch")


def steps_per_second(quick, torch, show, emit):
    steps = 200 if quick else 2000
    ours = flotilla("mlp", RANKS, 1, steps)
    rows = [("Flotilla", f"{1 / ours:.0f}", "")]
    theirs = {}
    for variant in ("eager", "fused") if torch.exists() else ():
        theirs[variant] = pytorch(torch, "mlp", variant, steps // 4)
        rows.append((f"PyTorch DDP {variant}", f"{1 / theirs[variant]:.0f}",
                     f"{theirs[variant] / ours:.1f} (goal: 4)"))  # fmt: skip
    show(f"MLP, batch 64 on each of {RANKS} ranks", rows, ("steps/s", "Flotilla is so many times"))
    emit(case="dp mlp", ranks=RANKS, unit="s/step", flotilla=ours, pytorch=theirs)


def efficiency(quick, show, emit):
    rows = []
    for case, steps in (("mlp", 200 if quick else 2000), ("resnet50", 2 if quick else 5)):
        one = flotilla(case, 1, 1, steps)
        many = flotilla(case, RANKS, 1, steps)
        threads = flotilla(case, 1, RANKS, steps)
        rows.append((case, f"{one * 1e3:.2f}", f"{many * 1e3:.2f}", f"{100 * one / many:.0f} %",
                     f"{threads * 1e3:.2f}", f"{100 * RANKS * threads / many:.0f} %"))  # fmt: skip
        emit(case=f"dp {case}", unit="s/step", one=one, many=many, threads=threads)
    columns = ("ms, 1 rank", f"{RANKS} ranks", "weak scaling", f"1 rank, {RANKS} threads",
               "ranks' samples of threads'")  # fmt: skip
    show("Steps of ranks with one thread each (goal for resnet50: 97 % of threads)", rows, columns)


def run(quick, torch, show, emit):
    steps_per_second(quick, torch, show, emit)
    efficiency(quick, show, emit)
