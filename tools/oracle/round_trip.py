"""Models and programs travel from Flotilla to real Paddle and back.

    .venv/bin/python tools/oracle/round_trip.py [--only MODEL] [--keep FOLDER]

For every model: one side saves an inference model and its serialized training program, the other
loads both. Predictions must agree to 1e-5, losses to 1e-4. 2.x models meet Paddle 2.6.2, fluid
models 1.8.5, from the environments of tools/oracle/setup.sh; both must be there. That a training
program made here trains in Paddle is tried and shown, but no failure yet.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "tests" / "oracle")]

from rules import relative_error  # noqa: E402

ORACLE = Path(os.environ.get("FLT_ORACLE_DIR", Path.home() / ".cache" / "flotilla-oracle"))
MODELS = ["mlp", "lenet", "resnet50", "wide_deep", "linear_regression",
          "fluid_mlp", "fluid_resnet18", "fluid_wide_deep", "fluid_linear_regression"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=MODELS, action="append", help="this model (repeatable)")
    parser.add_argument("--keep", type=Path, help="leave the files in this folder")
    parser.add_argument("--here", default=sys.executable, help="the interpreter with Flotilla")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        for model in options.only or MODELS:
            release = "paddle18" if model.startswith("fluid_") else "paddle26"
            paddle = ORACLE / release / "bin" / "python"
            if not paddle.exists():
                sys.exit(f"{release} is absent; to install it: tools/oracle/setup.sh {release}")
            for way, writer, reader in (
                (f"Flotilla to {release}", options.here, paddle),
                (f"{release} to Flotilla", paddle, options.here),
            ):
                folder = root / way.replace(" ", "_") / model
                folder.mkdir(parents=True, exist_ok=True)
                failed = trip(f"{model}, {way}", folder, model, writer, reader)
                failures += bool(failed - ({"train"} if reader is paddle else set()))
    return 1 if failures else 0


def trip(title, folder, model, writer, reader):
    """Takes `model` from one side to the other; returns the commands that failed."""
    if not side(title, writer, "save", model, folder):
        return {"save"}
    failed = set()
    for command in ("load", "train"):
        if not side(title, reader, command, model, folder) or not compare(title, folder, command):
            failed.add(command)
    return failed


def side(title, python, command, model, folder):
    """Runs one command of trip_side.py; says whether it ended well."""
    done = subprocess.run(
        [python, HERE / "trip_side.py", command, model, folder],
        capture_output=True,
        text=True,
        env={**os.environ, "GLOG_minloglevel": "3"},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1].strip()
        print(f"FAILED  {title}: {command} ended with {done.returncode}: {last}", flush=True)
    return done.returncode == 0


def compare(title, folder, command):
    saved, loaded = np.load(folder / "save.npz"), np.load(folder / f"{command}.npz")
    errors = {}
    for name in loaded.files:
        kind = "losses" if name == "losses" else "prediction"
        errors[name] = relative_error(loaded[name], saved[kind])
    good = all(error <= (1e-4 if name == "losses" else 1e-5) for name, error in errors.items())
    shown = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
    print(f"{'ok    ' if good else 'FAILED'}  {title}: {shown}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
