"""One side of one benchmark, in its own process: builds once, then runs steps when told to.

    worker.py MODULE CASE VARIANT THREADS

Prints one JSON line per command read from standard input:
    steps N   {"seconds": per step}
    peak      {"mebibytes": resident memory at its peak, beyond what the imports had left}
The first line says that it is ready, or what went wrong.
"""

import importlib
import json
import sys
import time

# Real Paddle brings a zlib of its own and puts it before Python's: a zlib module that is loaded
# after Paddle calls into both, and crashes or finds an "inconsistent stream state".
import zlib  # noqa: F401


def memory(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def say(**values):
    print(json.dumps(values), flush=True)


def main():
    module, case, variant, threads = sys.argv[1:]
    try:
        side = importlib.import_module(module)
        before = memory("VmRSS")
        step = side.build(case, variant, int(threads))
        step()
        step()
    except Exception as error:  # noqa: BLE001 - told to the caller, who prints it
        text = str(error).strip().splitlines() or [type(error).__name__]
        return say(failed=f"{type(error).__name__}: {text[0]}")
    say(ready=side.version())
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "steps":
            count = int(arguments[0])
            begin = time.perf_counter()
            for _ in range(count):
                step()
            say(seconds=(time.perf_counter() - begin) / count)
        elif command == "peak":
            say(mebibytes=memory("VmHWM") - before)


main()
