"""Records 20 training steps of the whole models in real Paddle, and the programs themselves.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_programs.py [--only NAME] [--shake]
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_programs.py ...

Writes tests/oracle/recorded/programs_<version>.json (losses, metrics, checksums) and, per model,
programs/<model>.{main,startup}.gz: the serialized programs after minimize, without call stacks.
--shake records nothing; it shows how far the losses move when parameters change in the last bit.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import training  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="record this model alone")
    parser.add_argument("--shake", action="store_true", help="print the sensitivity, write nothing")
    options = parser.parse_args()
    path = TESTS / "recorded" / f"programs_{paddle.__version__}.json"
    recorded = json.loads(path.read_text()) if options.only and path.exists() else {}
    for name, model in training.models().items():
        if options.only in (None, name):
            built = training.build(model)
            recorded[name] = record(name, built, options.shake)
    if not options.shake:
        lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in recorded.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def record(name, built, shake):
    answer = training.train(name, built)
    losses = np.array(answer["losses"])
    print(f"{name}: loss {losses[0]:.6f} to {losses[-1]:.6f}", end="")
    if shake:
        moved = np.abs(np.array(training.train(name, built, perturb=1e-7)["losses"]) - losses)
        print(f", moved by {moved.max():.1e}", end="")
    print(flush=True)
    if not shake:
        for part in ("main", "startup"):
            save(built[part], TESTS / "recorded" / "programs" / f"{name}.{part}.gz")
    kept = {key: built[key] for key in ("loss", "prediction", "parameters")}
    return {"paddle": paddle.__version__, **kept, **answer}


def save(program, path):
    program = program.clone()
    for block in program.blocks:
        for op in block.ops:
            op.desc.remove_attr("op_callstack")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(program.desc.serialize_to_string(), 9, mtime=0))


if __name__ == "__main__":
    main()
