"""How long launchers take to run processes that only say hi, from start to end."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOALS = {2: 0.2, 8: 1.0, 64: 5.0}  # processes -> seconds
RIVALS_UP_TO = 2  # they take seconds for two already


def commands(count, torch, paddle):
    """(name, command) of each launcher that is there."""
    fleetrun = Path(sys.executable).parent / "fleetrun"
    yield "Flotilla", [fleetrun, "--quiet", f"--nproc_per_node={count}"]
    if count > RIVALS_UP_TO:
        return
    if torch.exists():
        yield "PyTorch", [torch, "-m", "torch.distributed.run", f"--nproc_per_node={count}"]
    if paddle.exists():
        yield "Paddle", [paddle, "-m", "paddle.distributed.launch", f"--nproc_per_node={count}"]


def seconds_of(command, folder):
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "hi.py"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "GLOG_minloglevel": "3"},
    )
    taken = time.perf_counter() - started
    return taken if done.returncode == 0 else None


def run(quick, torch, paddle, show, emit):
    for count, goal in GOALS.items():
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "hi.py").write_text('print("hi")\n')
            for name, command in commands(count, torch, paddle):
                rounds = 1 if quick or name != "Flotilla" else 5
                found = [seconds_of(command, folder) for _ in range(rounds)]
                if None in found:
                    rows.append((name, "-", "failed"))
                    continue
                best, median = min(found), statistics.median(found)
                rows.append((name, f"{best:.3f}", f"{median:.3f}"))
                emit(case=f"launch {count}", side=name, unit="s", best=best, median=median)
        show(f"{count} processes that say hi (goal: {goal} s)", rows, ("s, best", "s, median"))
