"""Programs of single expressions travel (round_trip.py); runs under Flotilla and under Paddle.

    trip_words.py save ERA FOLDER    builds every line of tests/oracle/words_<era>.txt, saves it there
    trip_words.py run ERA FOLDER     runs what was saved, and lists what does not agree

What is expected are the values that real Paddle gave once, in tests/oracle/recorded.
"""

import base64
import json
import os
import signal
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import rules  # noqa: E402
import words  # noqa: E402
from words import static  # noqa: E402

TOLERANCE = 1e-5
SECONDS = 20  # for one program: some lock up where real Paddle spoils its memory
PROGRAMS = ("main", "startup")
# Lines that real Paddle runs only as it writes them itself, and why.
EXCEPT = {
    "nll_loss(": "its gradient is fed with one axis here, and 2.6.2 takes it without any",
    "NLLLoss(": "the same",
    "einsum('i,i->'": "the same",
    "layers.npair_loss(": "1.8 does not compare a row with a column",
    "x[::-1]": "1.8 takes no end in front of the first element",
    "x[layers.fill_constant([1], 'int32', 1):]": "1.8 takes bounds of int32 alone",
}


def save(era, folder):
    with open(folder / "words.json", "w") as file:
        for line in words.lines(era):
            built = words.build(line)
            for part in PROGRAMS:
                data = built[part].desc.serialize_to_string()
                built[part] = base64.b64encode(data).decode()
            file.write(json.dumps({"line": line, **built}) + "\n")


def run(era, folder):
    answers = dict(np.load(TESTS / "recorded" / f"words_{era}.npz"))
    all_saved = [json.loads(line) for line in (folder / "words.json").read_text().splitlines()]
    known = [saved for saved in all_saved if any(word in saved["line"] for word in EXCEPT)]
    asked = [saved for saved in all_saved if saved not in known]
    agreed = [holds(saved, answers) for saved in asked]
    print(f"{sum(agreed)} of {len(asked)} expressions agree, {len(known)} are known exceptions")
    return 0 if all(agreed) else 1


def holds(saved, answers):
    """Whether a program gives what was recorded; it runs by itself, as it may end the process."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            problem = compare(saved, answers)
        except Exception as error:  # noqa: BLE001 - any refusal is printed
            problem = " ".join(str(error).split())[-300:]
        if problem:
            print(f"{saved['line']}: {problem}", flush=True)
        os._exit(1 if problem else 0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"{saved['line']}: ended by signal {os.WTERMSIG(status)}", flush=True)
    return status == 0


def compare(saved, answers):
    """What differs, in words."""
    for part in PROGRAMS:
        saved[part] = static.Program.parse_from_string(base64.b64decode(saved[part]))
    errors = {
        name: rules.relative_error(array, answers[f"{saved['line']}|{name}"])
        for name, array in words.execute(saved).items()
    }
    bad = [f"{name} differs by {error:.1e}" for name, error in errors.items()
           if not error < TOLERANCE]  # fmt: skip
    return ", ".join(bad)


if __name__ == "__main__":
    sys.exit({"save": save, "run": run}[sys.argv[1]](sys.argv[2], Path(sys.argv[3])))
