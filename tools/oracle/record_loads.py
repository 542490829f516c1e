"""Records the programs of tests/oracle/load_cases.py as Paddle 1.8 writes and runs them.

    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_loads.py [--only NAME]

Writes tests/oracle/recorded/loads_<version>.npz: for each case the serialized programs without call
stacks (paths of this machine), the names that are fetched, and what two steps gave.
"""

import argparse
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import load_cases  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="run this case alone, print what it gives, write nothing")
    options = parser.parse_args()
    recorded = {}
    for name in [options.only] if options.only else load_cases.CASES:
        for key, value in record(name).items():
            recorded[f"{name}/{key}"] = value
    if options.only:
        print(recorded)
        return
    np.savez_compressed(TESTS / "recorded" / f"loads_{paddle.__version__}.npz", **recorded)


def record(name):
    main, startup, fetches, trained = load_cases.build(name)
    answers = load_cases.train(name, main, startup, fetches, trained)
    print(name, {key: value.tolist() for key, value in answers.items() if key[1:] == "/0"})
    return {
        "main": serialized(main),
        "startup": serialized(startup),
        "fetches": np.array(fetches),
        "trained": np.array(trained),
        **answers,
    }


def serialized(program):
    program = program.clone()
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    return np.frombuffer(program.desc.serialize_to_string(), "uint8")


if __name__ == "__main__":
    main()
