"""Records what real Paddle answers to the expressions of tests/oracle/words.py.

    $FLT_ORACLE_DIR/paddle26/bin/python tools/oracle/record_words.py
    $FLT_ORACLE_DIR/paddle18/bin/python tools/oracle/record_words.py

Writes tests/oracle/recorded/words_<era>.npz: `<line>|out/<n>` and `<line>|grad/<input>`.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests" / "oracle"
sys.path[:0] = [str(TESTS)]

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import words  # noqa: E402


def main():
    era = "1x" if paddle.__version__.startswith("1.") else "2x"
    answers, refused = {}, []
    for line in words.lines(era):
        try:
            found = words.run(line)
        except Exception as error:  # noqa: BLE001 - listed below, and the run fails
            refused.append((line, str(error).strip().splitlines()[-1]))
            continue
        answers.update({f"{line}|{name}": array for name, array in found.items()})
    np.savez_compressed(TESTS / "recorded" / f"words_{era}.npz", **answers)
    print(f"{len(words.lines(era)) - len(refused)} lines recorded with Paddle {paddle.__version__}")
    for line, reason in refused:
        print(f"refused: {line}: {reason}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
