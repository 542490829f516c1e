"""This checkout beside another one of Flotilla, say of an earlier commit: is a change slower?

Both are built (./test, or ninja -C build/dev, in each). Rounds alternate between them, and each
gives a ratio: how many times as fast this one is. Shown are the median of the ratios and its 95 %
interval by order statistics. Processes are made anew every few rounds, so that the place where the
memory of one happens to lie does not count for all.
"""

import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import collectives
import servers

ROUNDS, QUICK_ROUNDS = 24, 6
ROUNDS_OF_A_PROCESS = 4
SERVED = 2  # seconds of a round with parameter servers
REDUCED = 0.1  # seconds of each size of an all-reduce
TOPICS = ["comm", "ps"]  # beside the cases of steps


def check_built(tree):
    launcher = tree / "build" / "dev" / "bin" / "flotilla"
    if not launcher.exists():
        sys.exit(f"{tree} is not built: there is no {launcher.relative_to(tree)}; run ninja there")


def interval(values):
    """Bounds that hold the median with a probability of 95 % or more."""
    ordered, count = sorted(values), len(values)
    below, tail = 0, 0.0
    while tail + math.comb(count, below) / 2**count <= 0.025:
        tail += math.comb(count, below) / 2**count
        below += 1
    at = max(below - 1, 0)
    return ordered[at], ordered[-1 - at]


def reduce_times(tree):
    """{bytes: microseconds}"""
    programs = tree / "build" / "dev" / "bin"
    command = [programs / "flotilla", "launch", "--quiet", "--nproc_per_node=2",
               programs / "bench_comm", str(REDUCED)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=collectives.LIMIT)
    if done.returncode != 0:
        sys.exit(f"bench_comm of {tree} failed:\n{done.stderr}")
    times = collectives.lines_of(done.stdout)
    return {size: time for (what, size), time in times.items() if what == "fresh"}


@dataclass
class Comparison:
    quick: bool
    make_worker: object  # (case, tree) -> a process that runs steps of the case
    sides: dict  # tree -> side of the jobs with servers; this checkout's first
    settle: float  # seconds before a round
    show: object
    emit: object

    def rounds(self):
        """Numbers of rounds, each with the trees in the order of its turn: what heats the machine
        must not always be the same side."""
        trees = list(self.sides)
        for turn in range(QUICK_ROUNDS if self.quick else ROUNDS):
            yield turn, trees if turn % 2 == 0 else trees[::-1]

    def ratio(self, of_tree, faster=False):
        """How many times as fast ours is, by seconds of each tree, or by speeds."""
        ours, theirs = (of_tree[tree] for tree in self.sides)
        return ours / theirs if faster else theirs / ours

    def step_ratios(self, case):
        ratios, workers = [], {}
        for turn, trees in self.rounds():
            if turn % ROUNDS_OF_A_PROCESS == 0:
                for worker in workers.values():
                    worker.close()
                workers = {tree: self.make_worker(case, tree) for tree in self.sides}
                first = workers[trees[0]]
                count = max(1, round(case.per_round / first.steps(1)))
            seconds = {}
            for tree in trees:
                time.sleep(self.settle)
                seconds[tree] = workers[tree].steps(count)
            ratios.append(self.ratio(seconds))
        for worker in workers.values():
            worker.close()
        return ratios

    def reduce_ratios(self):
        ratios = {}
        for _, trees in self.rounds():
            times = {tree: reduce_times(tree) for tree in trees}
            for size in times[trees[0]]:
                of_size = {tree: times[tree][size] for tree in trees}
                ratios.setdefault(f"{size >> 10} KiB", []).append(self.ratio(of_size))
        return ratios

    def served_ratios(self, mode):
        return [
            self.ratio(
                {tree: servers.run_job(self.sides[tree], mode, SERVED)[0] for tree in trees}, True
            )
            for _, trees in self.rounds()
        ]

    def table(self, title, ratios):
        rows = []
        for name, found in ratios.items():
            low, high = interval(found)
            median = statistics.median(found)
            self.emit(case=f"against: {title}", what=name, median=median, low=low, high=high,
                      rounds=found)  # fmt: skip
            rows.append((name, f"{median:.3f}", f"{low:.3f}", f"{high:.3f}", str(len(found))))
        columns = ("times as fast", "95 % from", "to", "rounds")
        self.show(f"{title}, beside {list(self.sides)[1]}", rows, columns)

    def run(self, cases, topics):
        for tree in self.sides:
            check_built(tree)
        if cases:
            self.table("Steps", {case.name: self.step_ratios(case) for case in cases})
        if "comm" in topics:
            self.table("All-reduces of 2 ranks", self.reduce_ratios())
        if "ps" in topics:
            self.table(servers.TITLE, {mode: self.served_ratios(mode) for mode in servers.TITLES})
