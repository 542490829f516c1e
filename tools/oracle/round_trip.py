"""Models and programs travel from Flotilla to real Paddle and back.

    .venv/bin/python tools/oracle/round_trip.py [--only NAME] [--keep FOLDER]

For every model one side saves an inference model and its serialized training program, the other
loads both. Predictions must agree to 1e-5, losses to 1e-4. Then every expression of
tests/oracle/words_*.txt goes to the other side, with its gradients. What is 2.x meets Paddle 2.6.2,
fluid 1.8.5, from the environments of tools/oracle/setup.sh; without them the exit code is 77.
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
MODELS = ["mlp", "lenet", "resnet50", "wide_deep", "linear_regression", "branches", "loops",
          "fluid_mlp", "fluid_resnet18", "fluid_wide_deep", "fluid_linear_regression",
          "fluid_branches"]  # fmt: skip
WORDS = {"words_2x": "paddle26", "words_1x": "paddle18"}
SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", choices=[*MODELS, *WORDS], action="append", help="this one (repeatable)"
    )
    parser.add_argument("--keep", type=Path, help="leave the files in this folder")
    parser.add_argument("--here", default=sys.executable, help="the interpreter with Flotilla")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or Path(scratch)
        for model in options.only or [*MODELS, *WORDS]:
            release = WORDS.get(model, "paddle18" if model.startswith("fluid_") else "paddle26")
            paddle = ORACLE / release / "bin" / "python"
            if not paddle.exists():
                print(f"{release} is absent; to install it: tools/oracle/setup.sh {release}")
                return SKIPPED
            there, back = root / "there" / model, root / "back" / model
            if model in WORDS:
                good &= words(f"{model}, Flotilla to {release}", there, options.here, paddle)
                continue
            good &= trip(f"{model}, Flotilla to {release}", there, options.here, paddle)
            good &= trip(f"{model}, {release} to Flotilla", back, paddle, options.here)
    return 0 if good else 1


def trip(title, folder, writer, reader):
    """Takes the model that `folder` is named after from one side to the other."""
    folder.mkdir(parents=True, exist_ok=True)
    good = True
    for python, command in ((writer, "save"), (reader, "load"), (reader, "train")):
        problem, answer = run(python, command, folder)
        word = "FAILED" if problem else "ok"
        print(f"{word:6}  {title}, {command}: {problem or answer}", flush=True)
        good &= not problem
        if problem and command == "save":
            break
    return good


def words(title, folder, writer, reader):
    """Takes the programs of single expressions from one side to the other."""
    folder.mkdir(parents=True, exist_ok=True)
    era = folder.name[len("words_") :]
    for python, command in ((writer, "save"), (reader, "run")):
        done = subprocess.run(
            [python, "-W", "ignore", HERE / "trip_words.py", command, era, folder],
            capture_output=True,
            text=True,
            env={**os.environ, "GLOG_minloglevel": "3"},
        )
        if done.returncode:
            print(f"FAILED  {title}, {command}:\n{done.stdout}{done.stderr[-2000:]}", flush=True)
            return False
    print(f"ok      {title}: {done.stdout.splitlines()[-1]}", flush=True)
    return True


def run(python, command, folder):
    """Runs one command of trip_side.py; returns what went wrong, and the errors it found."""
    done = subprocess.run(
        [python, HERE / "trip_side.py", command, folder.name, folder],
        capture_output=True,
        text=True,
        env={**os.environ, "GLOG_minloglevel": "3"},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1].strip()
        return f"ended with {done.returncode}: {last}", ""
    if command == "save":
        return "", "done"
    saved, found = np.load(folder / "save.npz"), np.load(folder / f"{command}.npz")
    limit, source = (1e-5, "prediction") if command == "load" else (1e-4, "losses")
    errors = {name: relative_error(found[name], saved[source]) for name in found.files}
    text = ", ".join(f"{name} within {error:.1e}" for name, error in errors.items())
    return ("" if max(errors.values()) <= limit else f"more than {limit}: {text}"), text


if __name__ == "__main__":
    sys.exit(main())
