"""One rank of one side of a data-parallel benchmark: rank 0 prints how long a step took.

    replica.py MODULE CASE VARIANT THREADS STEPS PARALLEL
"""

import importlib
import json
import os
import sys
import time


def main():
    module, case, variant, threads, steps, parallel = sys.argv[1:]
    side = importlib.import_module(module)
    step = side.build(case, variant, int(threads), parallel == "1")
    for _ in range(3):
        step()
    rounds = []
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(int(steps)):
            step()
        rounds.append((time.perf_counter() - begin) / int(steps))
    if os.environ.get("PADDLE_TRAINER_ID", os.environ.get("RANK", "0")) == "0":
        print(json.dumps({"seconds": min(rounds)}), flush=True)


main()
