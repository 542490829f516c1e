"""Flotilla beside PyTorch and Paddle, on this machine, in this run.

Every side runs in its own process and environment; rounds go round the sides, so that a busy
moment of the machine hits all of them. The best round and the median are shown. Rivals live in
$FLT_ORACLE_DIR (tools/oracle/setup.sh); one that is absent is reported and left out. On an AMD
processor Paddle's MKL is half as fast as it could be, unless an undocumented variable tells it to
use AVX2: Paddle then runs twice, as it installs (which the goals are for) and "tuned" by that variable.

    ./bench                 all cases
    ./bench --quick         fewer and shorter rounds
    ./bench --only mlp      one case: mlp, resnet50, wide_deep, import, memory
    ./bench --json FILE     also write one JSON line per side
    ./bench launch          how long launchers take to start and end processes
    ./bench comm            all-reduces between processes of this host, beside PyTorch's Gloo
    ./bench dp              training on two ranks of this host, beside PyTorch's DDP
    ./bench data            how fast data is fed; --only loader, text, images or dataset
    ./bench rpc             requests to a server of this host, with and without shared memory
    ./bench predict         what a call of a predictor costs beside its plan
    ./bench ps              parameter servers: tables, and Wide&Deep beside two releases of Paddle;
                            --only tables, async, geo or sync
    ./bench gpu             training steps on a GPU, beside PyTorch's; --only mlp, resnet50 or
                            wide_deep
    ./bench against TREE    another checkout of Flotilla, built: how many times as fast this one is;
                            --only mlp, resnet50, wide_deep, comm or ps
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import against
import collectives
import feeding
import launching
import machine
import predicting
import replicas
import servers
import tables
import transport

# The threads of Intel's OpenMP spin so long after their last work, on cores that the next needs.
SETTLE = 0.3
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ORACLE = Path(os.environ.get("FLT_ORACLE_DIR", Path.home() / ".cache" / "flotilla-oracle"))


@dataclass(frozen=True)
class Side:
    name: str
    python: Path
    module: str
    package: str
    tuned: bool = False  # runs with variables that no user is told of
    tree: Path = None  # the checkout of Flotilla that it runs

    def variables(self, threads):
        """The environment of a process of this side."""
        found = {**machine.variables(threads), **(machine.avx2_in_old_mkl() if self.tuned else {})}
        if self.tree:
            packages = [self.tree / "python", self.tree / "build" / "dev" / "python"]
            found["PYTHONPATH"] = os.pathsep.join(map(str, packages))
            found["FLT_PYTHON"] = str(self.python)
        return found

    def absent(self):
        """Why this side cannot run, or nothing."""
        if self.python.exists():
            return ""
        return (
            f"{self.name} is absent; to install it: tools/oracle/setup.sh {self.python.parts[-3]}"
        )


FLOTILLA = Side("Flotilla", Path(sys.executable), "paddle_side", "paddle", tree=ROOT)
TORCH = Side("PyTorch", ORACLE / "torch" / "bin" / "python", "torch_side", "torch")
PADDLE = Side("Paddle", ORACLE / "paddle26" / "bin" / "python", "paddle_side", "paddle")
SERVER_SIDES = [
    replace(FLOTILLA, module="ctr_paddle"),
    Side("Paddle 2.6.2", PADDLE.python, "ctr_paddle", "paddle"),
    Side("Paddle 1.8.5", ORACLE / "paddle18" / "bin" / "python", "ctr_fluid", "paddle"),
]


def with_tuned(sides):
    """`sides`, and Paddle's once more where tuning makes a difference on this machine."""
    paddles = [side for side in sides if side.name.startswith("Paddle")]
    tuned = [replace(side, name=f"{side.name} tuned", tuned=True) for side in paddles]
    return [*sides, *tuned] if machine.avx2_in_old_mkl() else list(sides)


@dataclass
class Case:
    name: str
    title: str
    threads: int
    per_round: float  # seconds of steps in a round, at least one step
    rounds: int
    torch_variants: tuple
    goals: dict = field(default_factory=dict)  # rival -> how many times faster Flotilla should be

    def variants(self, side):
        return self.torch_variants if side.name == TORCH.name else ("",)


CASES = [
    Case("mlp", "MLP step, batch 64, Adam", 1, 0.5, 9,
         ("eager", "foreach", "fused", "compiled"), {"PyTorch": 2.0, "Paddle": 4.0}),
    Case("resnet50", "ResNet50 training step, batch 16, 224x224, Momentum", 2, 4.0, 5,
         ("contiguous", "channels_last", "channels_last_compiled"), {"PyTorch": 1.2}),
    Case("wide_deep", "Wide&Deep step, batch 512, 26 slots, SGD", 2, 0.5, 7,
         ("eager", "compiled"), {"PyTorch": 1.3}),
]  # fmt: skip

GPU_CASES = [
    replace(CASES[0], rounds=7, goals={"PyTorch": 6.0},
            torch_variants=("eager", "compiled", "reduce_overhead", "captured")),
    replace(CASES[2], rounds=5, goals={"PyTorch": 5.0}, threads=4,
            torch_variants=("eager", "compiled")),
    replace(CASES[1], title="ResNet50 training step, batch 256, 224x224, Momentum, TF32",
            rounds=3, per_round=3.0, threads=8, goals={"PyTorch": 1.0},
            torch_variants=("channels_last_compiled",)),
]  # fmt: skip


class Worker:
    """A process that has built one variant of one case and runs steps when asked."""

    def __init__(self, side, case, variant):
        self.side, self.variant, self.seconds = side, variant, []
        threads = str(case.threads)
        self.process = subprocess.Popen(
            [side.python, HERE / "worker.py", side.module, case.name, variant, threads],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **side.variables(case.threads)},
        )
        first = self.read()
        self.failed, self.version = first.get("failed"), first.get("ready")

    def read(self):
        """The next JSON line; a process that ended without one has failed."""
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {"failed": f"the process ended with status {self.process.wait()}"}

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.read()

    def steps(self, count):
        """Seconds per step, over `count` of them."""
        answer = self.ask("steps", count)
        if "failed" in answer:
            sys.exit(f"{self.label()} stopped in the middle of a run: {answer['failed']}")
        return answer["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def label(self):
        return f"{self.side.name} {self.variant}".strip()


def run_case(case, sides, quick, emit):
    """Steps of `case` on all `sides`, round by round; prints a table and the ratios."""
    workers = []
    for side in sides:
        for variant in case.variants(side):
            workers.append(Worker(side, case, variant))
    good = [worker for worker in workers if not worker.failed]
    span = case.per_round * (0.3 if quick else 1)
    counts = {worker: max(1, round(span / worker.steps(1))) for worker in good}
    for _ in range(3 if quick else case.rounds):
        for worker in good:
            time.sleep(SETTLE)
            worker.seconds.append(worker.steps(counts[worker]))
    rows = []
    for worker in workers:
        if worker.failed:
            rows.append((worker.label(), "-", "-", worker.failed))
            continue
        best, median = min(worker.seconds), statistics.median(worker.seconds)
        numbers = f"{best * 1e3:.3f}", f"{median * 1e3:.3f}", f"{1 / best:.4g}"
        rows.append((worker.label(), *numbers))
        emit(case=case.name, side=worker.side.name, variant=worker.variant, unit="s/step",
             version=worker.version, threads=case.threads, best=best, median=median,
             rounds=worker.seconds)  # fmt: skip
        worker.close()
    title = f"{case.title}, {case.threads} thread{'s' * (case.threads > 1)}"
    show(title, rows, ("ms, best", "ms, median", "steps/s"))
    ratios({s.name: [w.seconds for w in good if w.side is s] for s in sides}, case.goals)


def ratios(seconds, goals):
    """How many times faster Flotilla is: by the best round, and by the best median."""
    ours = seconds.get("Flotilla")
    for rival, theirs in seconds.items():
        if not ours or not theirs or rival == "Flotilla":
            continue
        best = min(map(min, theirs)) / min(map(min, ours))
        median = min(map(statistics.median, theirs)) / min(map(statistics.median, ours))
        goal = f"  (goal: {goals[rival]:.1f})" if rival in goals else ""
        print(f"  {best:.2f} times as fast as {rival} (median: {median:.2f}){goal}")


def run_import(sides, quick, emit):
    code = (
        "import numpy, time; begin = time.perf_counter(); import {}; "
        "print('seconds', time.perf_counter() - begin)"
    )
    seconds = {side: [] for side in sides}
    for _ in range(3 if quick else 7):
        for side in sides:
            command = [side.python, "-W", "ignore", "-c", code.format(side.package)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
            if done.returncode == 0:
                seconds[side].append(float(done.stdout.split()[-1]))
    rows = []
    for side, found in seconds.items():
        if not found:
            rows.append((side.name, "-", "import failed"))
            continue
        best, median = min(found), statistics.median(found)
        rows.append((side.name, f"{best:.3f}", f"{median:.3f}"))
        emit(case="import", side=side.name, unit="s", best=best, median=median, rounds=found)
    show("Import, beyond numpy's", rows, ("s, best", "s, median"))
    ratios({side.name: [found] for side, found in seconds.items() if found}, {})


def run_memory(sides, quick, emit):
    """Peak memory of two ResNet50 steps, each side in a fresh process, after its imports."""
    case = next(case for case in CASES if case.name == "resnet50")
    rows = []
    for side in sides:
        for variant in ("contiguous", "channels_last") if side is TORCH else ("",):
            worker = Worker(side, case, variant)
            if worker.failed:
                rows.append((worker.label(), worker.failed))
                continue
            peak = worker.ask("peak")["mebibytes"]
            worker.close()
            rows.append((worker.label(), f"{peak:.0f}"))
            emit(case="memory", side=side.name, variant=variant, unit="MiB", best=peak)
    show("Peak memory of a ResNet50 step, batch 16, beyond the imports", rows, ("MiB",))


def show(title, rows, columns):
    print(f"\n{title}")
    table = [("", *columns), *rows]
    first, *others = [max(map(len, column)) for column in zip(*table)]
    for name, *cells in table:
        numbers = [cell.rjust(width) for cell, width in zip(cells, others)]
        print("  " + "  ".join([name.ljust(first), *numbers]), flush=True)


def present(sides, without):
    """Those of `sides` that can run; says which cannot."""
    wanted = [side for side in sides if side.name not in without]
    for side in wanted:
        if side.absent():
            print(side.absent())
    return [side for side in wanted if not side.absent()]


def run_servers(options, emit):
    topics = options.only or ["tables", *servers.TITLES]
    if "tables" in topics:
        tables.run(options.quick, show, emit)
    modes = [mode for mode in servers.TITLES if mode in topics]
    if modes:
        sides = with_tuned(present(SERVER_SIDES, options.without))
        servers.run(options.quick, sides, modes, show, emit)


def run_on_gpu(options, emit):
    """With the Python at hand, which has both sides, as on machines that have a GPU."""
    os.environ["FLT_BENCH_GPU"] = "1"
    sides = [
        replace(FLOTILLA, tree=None),
        replace(TORCH, python=Path(sys.executable), module="torch_gpu_side"),
    ]
    for case in GPU_CASES:
        if not options.only or case.name in options.only:
            run_case(case, sides, options.quick, emit)


def run_against(options, emit):
    def make_worker(case, tree):
        worker = Worker(replace(FLOTILLA, tree=tree), case, "")
        if worker.failed:
            sys.exit(f"{case.name} of {tree} failed: {worker.failed}")
        return worker

    wanted = options.only or [case.name for case in CASES] + against.TOPICS
    cases = [case for case in CASES if case.name in wanted]
    sides = {tree: replace(SERVER_SIDES[0], tree=tree) for tree in (ROOT, options.tree.resolve())}
    comparison = against.Comparison(options.quick, make_worker, sides, SETTLE, show, emit)
    comparison.run(cases, wanted)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [case.name for case in CASES] + ["import", "memory"]
    parser.add_argument("suite", nargs="?", default="steps",
                        choices=["steps", "data", "launch", "comm", "dp", "rpc", "predict", "ps", "gpu", "against"])  # fmt: skip
    parser.add_argument("tree", nargs="?", type=Path, help="the other checkout of `against`")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", choices=[*names, *feeding.TOPICS, "tables", *servers.TITLES, *against.TOPICS],
                        action="append",
                        help="run this case (repeatable)")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write JSON lines to this file")
    parser.add_argument("--without", action="append", default=[],
                        choices=["PyTorch", "Paddle", *(side.name for side in SERVER_SIDES)],
                        help="leave a side out (repeatable)")  # fmt: skip
    options = parser.parse_args()
    lines = options.json.open("w") if options.json else None

    def emit(**values):
        if lines:
            print(json.dumps(values), file=lines, flush=True)

    if options.suite == "data":
        missed = feeding.run(options.only, options.quick, show, emit)
        for row in missed:
            print(f"  missed: {row.title}, {row.name}: {row.value} {row.unit}, goal {row.goal}")
        return
    if options.suite == "comm":
        if TORCH.absent():
            print(TORCH.absent())
        collectives.run(options.quick, TORCH.python, show, emit)
        return
    if options.suite == "dp":
        replicas.run(options.quick, TORCH.python, show, emit)
        return
    if options.suite == "gpu":
        return run_on_gpu(options, emit)
    if options.suite == "launch":
        launching.run(options.quick, TORCH.python, PADDLE.python, show, emit)
        return
    if options.suite == "rpc":
        transport.run(options.quick, show, emit)
        return
    if options.suite == "predict":
        predicting.run(options.quick, FLOTILLA, show, emit)
        return
    if options.suite == "ps":
        run_servers(options, emit)
        return
    if options.suite == "against":
        if not options.tree:
            parser.error("against needs the path of another checkout")
        run_against(options, emit)
        return
    sides = present((FLOTILLA, TORCH, PADDLE), options.without)
    for case in CASES:
        if not options.only or case.name in options.only:
            run_case(case, with_tuned(sides), options.quick, emit)
    for name, run in (("import", run_import), ("memory", run_memory)):
        if not options.only or name in options.only:
            run(sides, options.quick, emit)


if __name__ == "__main__":
    main()
