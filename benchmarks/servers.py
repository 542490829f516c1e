"""Wide&Deep on two workers and a parameter server of this host: Flotilla beside real Paddle.

All sides train the same model on the same batches, each process with one thread. Paddle's processes
are started here, by the variables that its launcher would set, so that no launcher is measured.
Rounds go round sides and modes; the best one counts.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKERS = 2
TITLE = f"Wide&Deep, 26 slots, batch 512, {WORKERS} workers and a server on this host"
TITLES = {"async": "async, lazy Adam", "geo": "Geo of 100 steps, SGD", "sync": "sync, lazy Adam"}
GOALS = {"async": 2.5, "geo": 1.8}  # mode -> times the better Paddle
SYNC_GOAL = 0.7  # of async
SHOWN = 5  # lines of each log of a job that failed
LIMIT = 180  # seconds that a job may take beyond those it measures


class Failed(Exception):
    """Why a job has no result: a few words, and the end of what it printed."""

    def __init__(self, why, log):
        super().__init__(why)
        self.log = log


@dataclass
class Score:
    """What a side did in a mode."""

    rounds: list = field(default_factory=list)  # samples/s
    communication: float = None  # share of the workers' time, if known
    failed: str = ""

    def best(self):
        return max(self.rounds, default=0)

    def cell(self):
        return self.failed or f"{self.best():,.0f}"


def is_ours(side):
    return side.tree is not None


def start(side, words, folder, log, **variables):
    """A process in a group of its own, whose output goes to a file."""
    variables = {**side.variables(1), "CPU_NUM": "1", "FLT_THREADS": "1", **variables}
    with (folder / log).open("w") as output:
        return subprocess.Popen([str(word) for word in words], cwd=folder, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                env={**os.environ, **variables})  # fmt: skip


def start_flotilla(side, script, folder):
    launch = [side.tree / "build" / "dev" / "bin" / "flotilla", "launch"]
    flags = ["--quiet", "--json", "--server_num=1", f"--worker_num={WORKERS}"]
    return [start(side, [*launch, *flags, *script], folder, "job.txt")]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start_paddle(side, script, folder):
    """The workers and, last, the server."""
    *own, port = free_ports(WORKERS + 1)
    job = {"PADDLE_PSERVERS_IP_PORT_LIST": f"127.0.0.1:{port}", "PADDLE_WITH_GLOO": "0",
           "PADDLE_TRAINERS_NUM": str(WORKERS), "POD_IP": "127.0.0.1"}  # fmt: skip
    roles = {f"worker{rank}.txt": {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(rank),
                                   "PADDLE_PORT": own[rank]}
             for rank in range(WORKERS)}  # fmt: skip
    roles["server.txt"] = {"TRAINING_ROLE": "PSERVER", "PADDLE_PORT": port}
    words = [side.python, *script]
    return [start(side, words, folder, log, **job, **role) for log, role in roles.items()]


def end(process):
    """Ends a process and its group, unless it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def failure(why, folder):
    ends = []
    for log in [*folder.glob("*.txt"), *folder.glob("log/*")]:
        lines = log.read_text(errors="replace").splitlines()[-SHOWN:]
        ends.append("\n".join([f"--- {log.name}", *(line[:200] for line in lines)]))
    return Failed(why, "\n".join(ends))


def check(processes, folder, deadline):
    """Fails where a process has ended in an error, or the time is up."""
    for process in processes:
        status = process.poll()
        if status and status < 0:
            raise failure(f"crashes ({signal.Signals(-status).name})", folder)
        if status:
            raise failure(f"fails (status {status})", folder)
    if time.monotonic() > deadline:
        raise failure("hangs", folder)


def wait_until(done, processes, folder, deadline):
    while not done():
        check(processes, folder, deadline)
        time.sleep(0.1)


def results(processes, folder, deadline):
    """What each worker told, as soon as all of them have."""
    files = [folder / f"result.{rank}" for rank in range(WORKERS)]
    wait_until(lambda: all(file.exists() for file in files), processes, folder, deadline)
    return [json.loads(file.read_text()) for file in files]


def communication(launcher, folder, deadline):
    """The workers' mean share of time in communication, by the launcher's report at its end."""
    wait_until(lambda: launcher.poll() == 0, [launcher], folder, deadline)
    last = json.loads((folder / "job.txt").read_text().splitlines()[-1])
    ranks = (last["report"] or {}).get("ranks", [])
    return sum(rank["communication"] for rank in ranks) / len(ranks) if ranks else None


def run_job(side, mode, seconds):
    """Samples per second of both workers, and the share of time in communication if known."""
    ours = is_ours(side)
    deadline = time.monotonic() + LIMIT + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = [HERE / "ctr_worker.py", side.module, mode, seconds, folder]
        processes = (start_flotilla if ours else start_paddle)(side, script, folder)
        try:
            samples = sum(results(processes, folder, deadline))
            if ours:
                return samples, communication(processes[0], folder, deadline)
            return samples, None
        finally:  # Paddle's servers do not end by themselves
            for process in processes:
                end(process)


def add_round(score, side, mode, seconds):
    if score.failed:
        return
    try:
        samples, score.communication = run_job(side, mode, seconds)
        score.rounds.append(samples)
    except Failed as error:
        score.failed = str(error)
        print(f"{side.name}, {mode}: {error}\n{error.log}", file=sys.stderr, flush=True)


def times_the_better(ours, rivals):
    """How many times as fast as the better of `rivals` we are."""
    return f"{ours / max(rivals):.2f}" if ours and any(rivals) else "-"


def report(scores, sides, modes, show, emit):
    rows = []
    for mode in modes:
        of_mode = {side: scores[side, mode] for side in sides}
        best = {side: score.best() for side, score in of_mode.items()}
        ours = max((best[side] for side in sides if is_ours(side)), default=0)
        rivals = [side for side in sides if not is_ours(side)]
        cells = [score.cell() for score in of_mode.values()]
        cells.append(times_the_better(ours, [best[side] for side in rivals if not side.tuned]))
        if mode in GOALS:
            cells[-1] += f" (goal: {GOALS[mode]})"
        cells.append(times_the_better(ours, [best[side] for side in rivals if side.tuned]))
        rows.append((TITLES[mode], *cells))
        for side, score in of_mode.items():
            emit(case=f"ps wide_deep {mode}", side=side.name, unit="samples/s", best=score.best(),
                 rounds=score.rounds, failed=score.failed,
                 communication=score.communication)  # fmt: skip
    names = (side.name for side in sides)
    columns = (*names, "times the better Paddle", "times the better tuned")
    show(f"{TITLE}, samples/s", rows, columns)


def report_ours(scores):
    """What is about Flotilla alone; `scores` by mode."""
    sync, asynchronous = (
        scores[mode].best() if mode in scores else 0 for mode in ("sync", "async")
    )
    if sync and asynchronous:
        print(f"  sync is {sync / asynchronous:.0%} as fast as async (goal: {SYNC_GOAL:.0%})")
    for mode, score in scores.items():
        if score.communication is not None:
            print(f"  {mode}: {score.communication:.0%} of the workers' time is communication")


def run(quick, sides, modes, show, emit):
    scores = {(side, mode): Score() for mode in modes for side in sides}
    for _ in range(1 if quick else 3):
        for (side, mode), score in scores.items():
            add_round(score, side, mode, 3 if quick else 10)
    report(scores, sides, modes, show, emit)
    report_ours({mode: score for (side, mode), score in scores.items() if is_ours(side)})
